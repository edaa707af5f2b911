#include "node/job/srun/srun_values.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/frame.hpp"

#include <algorithm>

namespace dockdist::node {
namespace {

Error wrong_value(const std::string& message) {
    return Error{.kind = ErrorKind::config, .message = message};
}

} // namespace

Result<int> read_count(std::string_view name, std::string_view text, int least) {
    const auto number = whole_number<int>(text);
    if (!number || *number < least || *number > wire::max_rank) {
        return wrong_value("Invalid numeric value \"" + printable(text) + "\" for --" + std::string(name) +
                           ".");
    }
    return *number;
}

Status read_nodes(SrunOptions& options, std::string_view text) {
    const auto dash = std::min(text.find('-'), text.size());
    const auto least = read_count("nodes", text.substr(0, dash));
    const auto rest = text.substr(std::min(dash + 1, text.size()));
    const auto most = rest.empty() ? least : read_count("nodes", rest);
    if (!least || !most || *most < *least) {
        return wrong_value("invalid number of nodes (-N " + printable(text) + ")");
    }
    options.nodes = *least;
    options.most_nodes = *most;
    return ok;
}

Result<int> read_gpus(std::string_view name, std::string_view text) {
    int sum = 0;
    for (const auto& item : split(text, ',')) {
        const auto count = read_count(name, item.substr(item.rfind(':') + 1), 0);
        TRY(count);
        sum = std::min(sum + *count, wire::max_rank);
    }
    return sum;
}

Status read_gres(SrunOptions& options, std::string_view text) {
    for (const auto& item : split(text, ',')) {
        const auto name = item.substr(0, item.find_first_of(":="));
        if (name != "gpu" && name != "gres/gpu") {
            if (!item.empty() && item != "none" && item != "NONE") {
                options.remarks.push_back("--gres=" + item + ": dockdist supports only gpu");
            }
            continue;
        }
        const auto count = item.find_last_of(":=");
        const auto number = count == std::string::npos ? std::string("1") : item.substr(count + 1);
        const bool is_type = !number.empty() && (number[0] < '0' || number[0] > '9');
        const auto gpus = read_count("gres", is_type ? "1" : number, 0);
        if (!gpus) {
            return wrong_value("Invalid GRES specification (--gres=" + printable(text) + ")");
        }
        options.gpus_per_node = *gpus;
    }
    return ok;
}

Status read_export(SrunOptions& options, std::string_view text) {
    ExportedVariables exported{.all = false};
    for (const auto& item : split(text, ',')) {
        const auto equals = item.find('=');
        if (item == "ALL") {
            exported.all = true;
        } else if (item == "NONE" || item == "NIL" || item.empty()) {
            continue;
        } else if (equals == std::string::npos) {
            exported.names.push_back(item);
        } else if (equals > 0) {
            exported.values[item.substr(0, equals)] = item.substr(equals + 1);
        } else {
            return wrong_value("invalid variable in --export: " + printable(item));
        }
    }
    options.exported = std::move(exported);
    return ok;
}

Status read_kill(SrunOptions& options, std::string_view text) {
    if (!text.empty() && text != "0" && text != "1") {
        return wrong_value("Invalid numeric value \"" + printable(text) + "\" for --kill-on-bad-exit.");
    }
    options.kill_on_bad_exit = text != "0";
    return ok;
}

Status read_open_mode(SrunOptions& options, std::string_view text) {
    if (text.empty() || std::string_view("at").find(text.front()) == std::string_view::npos) {
        return wrong_value("Invalid --open-mode specification: " + printable(text));
    }
    options.append = text.front() == 'a';
    return ok;
}

Status read_distribution(SrunOptions&, std::string_view text) {
    const auto first = text.substr(0, text.find_first_of(":,"));
    return first == "block" || first == "*" || first == "pack" || first == "nopack"
               ? Status(ok)
               : wrong_value("--distribution=" + printable(text) + ": dockdist supports only block");
}

Status read_mpi(SrunOptions& options, std::string_view text) {
    if (text != "none" && text != "list") {
        options.remarks.push_back("--mpi=" + printable(text) +
                                  ": dockdist's srun brings no PMI; start MPI programs with mpirun");
    }
    return ok;
}

} // namespace dockdist::node
