#include "node/session/scontrol.hpp"

#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/join.hpp"

#include <algorithm>
#include <cctype>
#include <sys/utsname.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

int complain(const std::string& message) {
    (void)write_all(STDERR_FILENO, "scontrol: " + message + "\n");
    return 1;
}

std::string machine_name() {
    utsname own{};
    return ::uname(&own) == 0 ? own.machine : "unknown";
}

struct Asked {
    std::vector<std::string> words{}; // without options
    bool one_line = false;
    bool version = false;
};

// Flags may stand anywhere; -M and -u bring a word with them.
Asked read_scontrol(const std::vector<std::string>& arguments) {
    Asked asked;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto& word = arguments[i];
        if (word.size() < 2 || word.front() != '-') {
            asked.words.push_back(word);
        } else if (word == "-V" || word == "--version") {
            asked.version = true;
        } else if (word == "-M" || word == "-u" || word == "--cluster" || word == "--clusters" ||
                   word == "--uid") {
            ++i;
        } else if (word == "--oneliner" || (word[1] != '-' && word.find('o') != std::string::npos)) {
            asked.one_line = true;
        }
    }
    return asked;
}

// As scontrol takes its words: in any case, shortened to no less than `least` letters.
bool means(std::string_view word, std::string_view whole, std::size_t least) {
    std::string lower(word);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return lower.size() >= least && whole.starts_with(lower);
}

int say(const std::string& text) {
    return write_all(STDOUT_FILENO, text) ? 0 : 1;
}

// A list, or a file of names.
std::string list_of_hosts(const std::string& word) {
    if (!word.starts_with('/')) {
        return word;
    }
    auto text = read_file_or_empty(word);
    std::ranges::replace(text, '\n', ',');
    while (text.ends_with(',')) {
        text.pop_back();
    }
    return text;
}

int show_hosts(const std::string& what, const std::string& word) {
    const auto list = word.empty() ? own_host_list() : list_of_hosts(word);
    if (list.empty()) {
        return complain("no host list is given, and SLURM_JOB_NODELIST is not set");
    }
    auto names = expand_host_list(list);
    if (!names) {
        return complain("invalid host list: " + printable(list));
    }
    if (means(what, "hostlistsorted", 9)) {
        std::ranges::sort(*names);
    }
    std::string text;
    for (const auto& name : *names) {
        text += name + "\n";
    }
    return say(means(what, "hostlistsorted", 5) ? host_list(*names) + "\n" : text);
}

// One record as Slurm prints it.
int say_record(const std::vector<std::string>& lines, bool one_line) {
    std::string text;
    for (const auto& line : lines) {
        text += text.empty() ? line : (one_line ? " " : "\n   ") + line;
    }
    return say(text + (one_line ? "\n" : "\n\n"));
}

int show_job(const std::string& id, bool one_line) {
    const auto own = Environment::own();
    const auto of = [&](const char* name) { return own.get(name).value_or(""); };
    const auto job = of("SLURM_JOB_ID");
    if (job.empty() || (!id.empty() && id != job && !id.starts_with(job + "."))) {
        (void)write_all(STDERR_FILENO, "slurm_load_jobs error: Invalid job id specified\n");
        return 1;
    }
    const auto or_null = [](std::string text) {
        return text.empty() ? std::string("(null)") : std::move(text);
    };
    const auto nodes = or_null(own_host_list());
    const auto names = expand_host_list(nodes);
    const auto user = of("SLURM_JOB_USER");
    const auto uid = of("SLURM_JOB_UID");
    const auto batch = of(batch_script_variable);
    const auto tasks = own.get("SLURM_NTASKS").value_or(of("SLURM_NNODES"));
    return say_record(
        {"JobId=" + job + " JobName=" + of("SLURM_JOB_NAME"),
         "UserId=" + user + "(" + uid + ") GroupId=" + user + "(" + of("SLURM_JOB_GID") + ") MCS_label=N/A",
         "Priority=1 Nice=0 Account=(null) QOS=(null)", "JobState=RUNNING Reason=None Dependency=(null)",
         "Requeue=0 Restarts=" + own.get("DOCKDIST_RESTART_COUNT").value_or("0") +
             " BatchFlag=" + (batch.empty() ? "0" : "1") + " Reboot=0 ExitCode=0:0",
         "TimeLimit=UNLIMITED TimeMin=N/A", "EndTime=Unknown Deadline=N/A",
         "Partition=" + of("SLURM_JOB_PARTITION") + " AllocNode:Sid=" + of("SLURM_SUBMIT_HOST") + ":0",
         "ReqNodeList=(null) ExcNodeList=(null)", "NodeList=" + nodes,
         "BatchHost=" + (names && !names->empty() ? names->front() : nodes),
         "NumNodes=" + of("SLURM_NNODES") + " NumTasks=" + tasks +
             " CPUs/Task=" + own.get("SLURM_CPUS_PER_TASK").value_or("1"),
         "Command=" + or_null(batch), "WorkDir=" + of("SLURM_SUBMIT_DIR"), "StdIn=/dev/null"},
        one_line);
}

int show_nodes(const std::string& list, bool one_line) {
    const auto members = wire::parse_members(read_file_or_empty(paths().members));
    const auto wanted = expand_host_list(list);
    if (!members || (!list.empty() && !wanted)) {
        return complain("no node is known by that name: " + printable(list));
    }
    int code = 0;
    for (const auto& name : list.empty() ? std::vector<std::string>{} : *wanted) {
        if (std::ranges::find(members->nodes, name, &wire::NodeRecord::node) == members->nodes.end()) {
            (void)write_all(STDOUT_FILENO, "Node " + printable(name) + " not found\n");
            code = 1;
        }
    }
    for (const auto& node : members->nodes) {
        if (list.empty() || std::ranges::find(*wanted, node.node) != wanted->end()) {
            (void)say_record(
                {"NodeName=" + node.node + " Arch=" + machine_name(),
                 "Gres=" + (node.gpus > 0 ? "gpu:" + std::to_string(node.gpus) : "(null)"),
                 "NodeAddr=" + node.address + " NodeHostName=" + node.hostname + " Version=22.05.8",
                 "State=ALLOCATED", "Partitions=dockdist"},
                one_line);
        }
    }
    return code;
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
    auto [words, one_line, version] = read_scontrol(arguments);
    if (version || (words.size() == 1 && means(words[0], "version", 4))) {
        return say("slurm-wlm 22.05.8\n");
    }
    if (words.size() == 1 && means(words[0], "ping", 2)) {
        return say("Slurmctld(primary) at " + Environment::own().get("DOCKDIST_NODE").value_or("node-0") +
                   " is UP\n");
    }
    if (words.size() < 2 || words.size() > 3 || !means(words[0], "show", 2)) {
        return std::nullopt;
    }
    const auto equals = words[1].find('=');
    auto value = words.size() == 3 ? words[2] : std::string();
    if (words.size() == 2 && equals != std::string::npos) {
        value = words[1].substr(equals + 1);
        words[1].resize(equals);
    }
    const auto& what = words[1];
    if (means(what, "hostnames", 5) || means(what, "hostlistsorted", 5)) {
        return show_hosts(what, value);
    }
    if (means(what, "jobid", 1) || means(what, "jobs", 1)) {
        return show_job(value, one_line);
    }
    return means(what, "nodes", 1) ? std::optional(show_nodes(value, one_line)) : std::nullopt;
}

} // namespace dockdist::node
