#include "node/session/scontrol.hpp"

#include "core/host_list.hpp"
#include "core/text.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "wire/join.hpp"

#include <unistd.h>

namespace dockdist::node {
namespace {

int complain(const std::string& message) {
    (void)write_all(STDERR_FILENO, "scontrol: " + message + "\n");
    return 1;
}

enum class Shown { names, list };

int show(const std::string& list, Shown what) {
    const auto names = expand_host_list(list);
    if (!names) {
        return complain("invalid host list: " + printable(list));
    }
    std::string text;
    if (what == Shown::list) {
        text = host_list(*names) + "\n";
    } else {
        for (const auto& name : *names) {
            text += name + "\n";
        }
    }
    return write_all(STDOUT_FILENO, text) ? 0 : 1;
}

} // namespace

std::string own_host_list() {
    const auto own = Environment::own();
    for (const auto* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        if (auto list = own.get(name); list && !list->empty()) {
            return *list;
        }
    }
    std::vector<std::string> names;
    if (const auto members = wire::parse_members(read_file_or_empty(paths().members))) {
        for (const auto& node : members->nodes) {
            names.push_back(node.node);
        }
    }
    return host_list(names);
}

std::optional<int> run_scontrol(const std::vector<std::string>& arguments) {
    if (arguments.size() < 2 || arguments.size() > 3 || arguments[0] != "show") {
        return std::nullopt;
    }
    const auto& what = arguments[1];
    if (what == "hostlist" && arguments.size() == 3) {
        return show(arguments[2], Shown::list);
    }
    if (what != "hostname" && what != "hostnames") {
        return std::nullopt;
    }
    const auto list = arguments.size() == 3 ? arguments[2] : own_host_list();
    return list.empty() ? complain("no host list is given, and SLURM_JOB_NODELIST is not set")
                        : show(list, Shown::names);
}

} // namespace dockdist::node
