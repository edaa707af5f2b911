#include "shared/launch/accelerate_settings.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/common.hpp"

#include <algorithm>
#include <array>

namespace dockdist {

namespace {

// `name` as accelerate knows it: it takes - for _ too.
std::string option_name(const std::string& word) {
    if (!word.starts_with("--")) {
        return "";
    }
    auto name = word.substr(2, word.find('=') - 2);
    std::ranges::replace(name, '-', '_');
    return name;
}

template <std::size_t Size>
bool is_one_of(const std::array<std::string_view, Size>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

// They would be the same on every node, or name machines of another cluster.
constexpr std::array<std::string_view, 7> names_of_the_cluster{"num_machines",
                                                               "num_processes",
                                                               "gpu_ids",
                                                               "machine_rank",
                                                               "main_process_ip",
                                                               "deepspeed_inclusion_filter",
                                                               "deepspeed_exclusion_filter"};
constexpr std::array<std::string_view, 5> paradigms{"use_deepspeed", "use_fsdp", "use_megatron_lm",
                                                    "multi_gpu", "tpu"};
// All but pdsh's are ways in which every node starts its own ranks, as it does without a word.
constexpr std::array<std::string_view, 3> ways{"pdsh", "standard", "nossh"};

Status check_way(const LaunchRequest& request, const AccelerateWords& words, const std::string& way) {
    if (!way.empty() && !is_one_of(ways, way)) {
        return Error{ErrorKind::usage, "--launcher-arg",
                     "accelerate's way `" + printable(way) +
                         "` to start DeepSpeed's ranks is not supported by dockdist",
                     "leave it out, and every node starts its own; or --via pdsh"};
    }
    if (!request.via.empty() && !way.empty() && way != request.via) {
        return Error{ErrorKind::usage, "--via",
                     "--via " + request.via + " contradicts `--deepspeed_multinode_launcher " + way + "`",
                     "leave one of the two out"};
    }
    if (words.by_pdsh && !words.paradigm.empty() && words.paradigm != "use_deepspeed") {
        return Error{ErrorKind::usage, "--via",
                     "pdsh is a way of DeepSpeed's, and `--" + words.paradigm + "` asks for something else",
                     "leave --via pdsh out: every node starts its own ranks then"};
    }
    return ok;
}

std::string list_of_nodes(const LaunchRequest& request) {
    std::string list;
    for (const auto& node : request.nodes) {
        list += (list.empty() ? "" : ", ") + node.name.str();
    }
    return list;
}

std::string setting(const LaunchNode& node, const char* name) {
    const auto found = node.settings.find(name);
    return found == node.settings.end() ? "" : found->second;
}

// Those of the hostfile that are no nodes of the job, the first few of them.
std::string strangers(const LaunchRequest& request, const std::string& hosts) {
    constexpr std::size_t most = 5;
    std::vector<std::string> names;
    for (const auto& host : split(hosts, ' ')) {
        const bool known = host.empty() || std::ranges::any_of(request.nodes, [&](const LaunchNode& node) {
                               return host == node.name.str() || host == node.address;
                           });
        if (!known) {
            names.push_back(printable(host));
        }
    }
    return first_names(names, most);
}

} // namespace

Result<AccelerateWords> read_words(const LaunchRequest& request) {
    AccelerateWords words;
    std::string way;
    const auto& options = request.options;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const auto name = option_name(options[i]);
        const auto value = [&] {
            const auto equals = options[i].find('=');
            return equals != std::string::npos ? options[i].substr(equals + 1)
                   : i + 1 < options.size()    ? options[++i]
                                               : "";
        };
        if (is_one_of(names_of_the_cluster, name)) {
            return Error{ErrorKind::usage, "--launcher-arg",
                         "accelerate's `--" + name + "` is set by dockdist, for each node",
                         "leave it out: --nodes, --exclude and --gpus say which nodes and how many ranks"};
        }
        if (name == "config_file") {
            words.config_file = value();
        } else if (name == "deepspeed_multinode_launcher") {
            way = value();
        } else if (name == "deepspeed_hostfile" || name == "mpirun_hostfile") {
            words.hostfile = value();
        } else if (name == "cpu") {
            words.on_cpu = true;
        } else {
            words.paradigm = is_one_of(paradigms, name) ? name : words.paradigm;
            words.others.push_back(options[i]);
        }
    }
    words.by_pdsh = request.via == "pdsh" || way == "pdsh";
    TRY(check_way(request, words, way));
    return words;
}

std::optional<wire::Question> ask_settings(const LaunchRequest& request) {
    const auto words = read_words(request);
    if (!words) {
        return std::nullopt;
    }
    return wire::Question{
        .argv = {"python", "-c", accelerate_settings_py, "ask", words->config_file, words->hostfile}};
}

Status check_settings(const LaunchRequest& request, const AccelerateWords& words) {
    for (const auto& node : request.nodes) {
        if (const auto error = setting(node, "error"); !error.empty() && !words.config_file.empty()) {
            return Error{
                ErrorKind::config, node.name.str(),
                "accelerate's configuration " + printable(words.config_file) + ": " + printable(error),
                "it is looked for in the node, from the job's folder: `sync:` in the file brings yours "
                "there"};
        }
        const auto type = setting(node, "type");
        if (words.by_pdsh && words.paradigm.empty() && !type.empty() && type != "DEEPSPEED") {
            return Error{ErrorKind::config, node.name.str(),
                         printable(words.config_file) + " says distributed_type: " + printable(type) +
                             ", and pdsh is a way of DeepSpeed's",
                         "leave pdsh out: every node starts its own ranks then"};
        }
    }
    return ok;
}

// Said once: the nodes have the same files, or the first one's is as good as any.
Errors settings_warnings(const LaunchRequest& request) {
    Errors warnings;
    const auto& node = request.nodes.front();
    const auto runs_on = "the job runs on " + list_of_nodes(request) +
                         ": --nodes, --exclude and --gpus say where, and no hostfile is needed";
    if (const auto others = strangers(request, setting(node, "hosts")); !others.empty()) {
        warnings.push_back({ErrorKind::config, node.name.str(),
                            printable(setting(node, "hostfile")) + " is not used: it names " + others +
                                ", no nodes of this job",
                            runs_on});
    }
    if (const auto filter = setting(node, "filter"); !filter.empty()) {
        warnings.push_back(
            {ErrorKind::config, node.name.str(),
             "the filter `" + printable(filter) + "` of accelerate's configuration is not used", runs_on});
    }
    int ranks = 0;
    for (const auto& other : request.nodes) {
        ranks += ranks_of(request, other);
    }
    const auto processes = setting(node, "processes");
    if (!processes.empty() && processes != std::to_string(ranks)) {
        warnings.push_back({ErrorKind::config, node.name.str(),
                            "`num_processes: " + printable(processes) +
                                "` of accelerate's configuration is not used: the job has " +
                                std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"),
                            "--nodes and --gpus say how many"});
    }
    if (const auto ids = setting(node, "gpu_ids"); !ids.empty() && ids != "all") {
        warnings.push_back({ErrorKind::config, node.name.str(),
                            "`gpu_ids: " + printable(ids) +
                                "` of accelerate's configuration is not used: the job's GPUs are its own",
                            "--gpus says how many of each node"});
    }
    const auto type = setting(node, "unused_type");
    if (type == "DEEPSPEED" || type == "FSDP" || type == "MEGATRON_LM") {
        const auto file = printable(setting(node, "unused_file"));
        warnings.push_back({ErrorKind::config, node.name.str(), file + " (" + type + ") is not used",
                            "--launcher-arg=--config_file=" + file + " makes this job use it"});
    }
    return warnings;
}

} // namespace dockdist
