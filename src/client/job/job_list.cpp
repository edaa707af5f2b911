#include "client/job/job_list.hpp"

#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "client/job/node_job.hpp"
#include "client/observe/node_command.hpp"
#include "client/observe/while_asked.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/history.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <string_view>
#include <utility>

namespace dockdist {
namespace {

constexpr std::chrono::seconds answer_limit{20};
constexpr std::size_t longest_list = 64U << 20U; // each failed rank's last lines are in it
constexpr std::size_t most_jobs = 10000;         // of one node, which keeps half as many that have ended …
constexpr std::size_t most_recent_jobs = 1000;   // … and lists fifty of these
constexpr int bad_line = 2;                      // an older dockdist-init does not know the words

// Engines say why a program does not start in what it would have written. (Where the node's processes are as
// many as it may have, it does not start either.)
bool lacks_init(const CommandResult& answer) {
    const auto says = [](const std::string& text) {
        return text.find("no such file") != std::string::npos || text.find("not found") != std::string::npos;
    };
    return answer.exit_code == exit_codes::not_found ||
           (answer.exit_code == exit_codes::cannot_start && (says(answer.out) || says(answer.err)));
}

// Of a container that ends or is removed under an exec, engines say one thing or another.
Task<bool> has_ended(ContainerEngine& engine, ContainerId id) {
    using enum ContainerState;
    const auto there = co_await engine.inspect_container(id);
    co_return there ? there->state == exited || there->state == dead || there->state == removing
                    : there.error().kind == ErrorKind::not_found;
}

std::vector<std::string> list_words(const JobsWanted& wanted) {
    std::vector<std::string> command{"job", "list"};
    if (wanted.all) {
        command.emplace_back("all");
    } else if (!wanted.name.empty()) {
        command.insert(command.end(), {"named", wanted.name});
    }
    return command;
}

Task<Result<std::vector<wire::JobSummary>>> ask(ContainerEngine& engine, ContainerId id, JobsWanted wanted) {
    const auto words = list_words(wanted), plain = list_words({});
    auto answer = co_await run_command(engine, id, node_command(words), longest_list);
    if (answer && answer->exit_code == bad_line && words != plain) {
        answer = co_await run_command(engine, id, node_command(plain), longest_list);
    }
    if ((!answer || answer->exit_code != 0) && co_await has_ended(engine, id)) {
        co_return gone_node(ErrorKind::not_found);
    }
    CO_TRY(answer);
    if (answer->exit_code != 0) {
        co_return Error{lacks_init(*answer) ? ErrorKind::not_found : ErrorKind::node, "",
                        "its jobs cannot be listed: " + printable(answer->err), ""};
    }
    const auto limit_of_jobs = wanted.all || !wanted.name.empty() ? most_jobs : most_recent_jobs;
    std::vector<wire::JobSummary> jobs;
    for (std::string_view rest = answer->out; !rest.empty();) { // no second copy of so much
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (auto job = wire::parse_job_summary(line)) {
            if (jobs.size() == limit_of_jobs) {
                co_return Error{ErrorKind::protocol, "",
                                fmt::format("it reports more than {} jobs", limit_of_jobs),
                                "look into " + std::string(layout::jobs) + " there: each folder is a job's"};
            }
            jobs.push_back(std::move(*job));
        }
    }
    co_return jobs;
}

std::pair<std::int64_t, JobId> begin_of(const KnownJob& job) {
    auto begin = job.parts.front().summary.started_ms;
    for (const auto& part : job.parts) {
        begin = std::min(begin, part.summary.started_ms);
    }
    return {begin, job.job};
}

} // namespace

Task<JobList> list_jobs(const Engines& engines, const std::vector<ReadyNode>& nodes, Reporter* reporter,
                        JobsWanted wanted) {
    std::vector<Task<Result<std::vector<wire::JobSummary>>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(with_timeout(
            while_asked(reporter, node.name.str(), ask(*engines[node.host], node.id, wanted)), answer_limit,
            Error{ErrorKind::timeout, "", "the node does not say which jobs it has",
                  "see `dockdist status`"}));
    }
    auto answers = co_await run_all(std::move(tasks));
    name_nodes(answers, nodes);
    JobList list;
    // Of the same name and another token: a job that was started while the nodes of the former were away.
    std::map<std::pair<std::string, std::string>, KnownJob> jobs;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!answers[i]) {
            list.errors.push_back(answers[i].error());
            continue;
        }
        for (auto& summary : *answers[i]) {
            auto& job = jobs[{summary.job, summary.token}];
            if (!job.parts.empty() && job.parts.back().node.name == nodes[i].name) {
                continue; // a node has one part of a job
            }
            job.job = JobId(summary.job);
            job.parts.push_back({.node = nodes[i], .summary = std::move(summary)});
        }
    }
    for (auto& [key, job] : jobs) {
        list.jobs.push_back(std::move(job));
    }
    std::ranges::sort(list.jobs, {}, begin_of);
    co_return list;
}

namespace {

Task<Result<wire::KeptHistory>> ask_node_kept(ContainerEngine& engine, ContainerId id) {
    constexpr std::size_t longest_answer = 4U << 20U;
    const auto answer = co_await run_command(engine, id, node_command({"job", "kept"}), longest_answer);
    co_return answer ? wire::parse_kept_history(answer->out) : Result<wire::KeptHistory>(answer.error());
}

} // namespace

Task<KeptJobs> ask_kept(const Engines& engines, const std::vector<ReadyNode>& nodes) {
    std::vector<Task<Result<wire::KeptHistory>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(
            with_timeout(ask_node_kept(*engines[node.host], node.id), answer_limit,
                         Error{ErrorKind::timeout, "", "the node does not say what it keeps", ""}));
    }
    KeptJobs kept;
    std::set<std::string> names;
    for (const auto& answer : co_await run_all(std::move(tasks))) {
        if (answer) {
            names.insert(answer->jobs.begin(), answer->jobs.end());
            kept.size.count += static_cast<std::uint64_t>(answer->bytes);
        }
    }
    kept.jobs = names.size();
    co_return kept;
}

constexpr std::size_t most_shown_jobs = 5;
std::vector<ReadyNode> nodes_of(const KnownJob& job) {
    std::vector<ReadyNode> nodes;
    std::ranges::transform(job.parts, std::back_inserter(nodes), &KnownPart::node);
    return nodes;
}

constexpr std::string_view run_mark = ".run";

bool is_of_setup(const KnownJob& job) {
    const auto& words = job.parts.empty() ? std::vector<std::string>() : job.parts.front().summary.argv;
    return words.size() > 2 && words[0] == layout::init && words[1] == "setup" && words[2] == "run";
}

NamedRun named_run(const JobId& job) {
    const auto& id = job.str();
    const auto mark = id.rfind(run_mark);
    const auto run = mark == std::string::npos || mark == 0
                         ? std::nullopt
                         : whole_number<int>(id.substr(mark + run_mark.size()));
    return run && *run > 0 ? NamedRun{id.substr(0, mark), *run} : NamedRun{id, 1};
}

namespace {

const KnownJob* latest_of_all(const std::vector<KnownJob>& jobs) {
    const auto found = std::ranges::find_if_not(jobs | std::views::reverse, is_of_setup);
    return found == jobs.rend() ? nullptr : &*found;
}

// Of the same number, which others than this cluster's ready nodes have not heard of, the one that began
// last.
const KnownJob* latest_run(const std::vector<KnownJob>& jobs, const std::string& name) {
    const KnownJob* latest = nullptr;
    for (const auto& job : jobs) {
        const auto own = named_run(job.job);
        if (own.name == name && (latest == nullptr || own.run >= named_run(latest->job).run)) {
            latest = &job;
        }
    }
    return latest;
}

} // namespace

Result<JobId> next_run(const std::vector<KnownJob>& jobs, const std::string& name) {
    const auto* latest = latest_run(jobs, name);
    if (latest == nullptr) {
        return JobId(name);
    }
    const auto& id = latest->job.str();
    for (const auto& part : latest->parts) {
        if (part.summary.running) {
            return Error{ErrorKind::conflict, part.node.name.str(), "job " + id + " of that name runs",
                         "`dockdist attach " + name + "` follows it, `dockdist stop " + name +
                             "` ends it; or take another --name"};
        }
    }
    auto next = fmt::format("{}{}{}", name, run_mark, named_run(latest->job).run + 1);
    if (!wire::is_job_id(next)) {
        return Error{ErrorKind::usage, "--name",
                     "a job " + id + " has run, and the name is too long to be used again",
                     "take one of 50 letters at most"};
    }
    return JobId(std::move(next));
}

const KnownJob* exact_job(const std::vector<KnownJob>& jobs, const JobId& job) {
    const auto found = std::ranges::find(jobs | std::views::reverse, job, &KnownJob::job);
    return found == jobs.rend() ? nullptr : &*found;
}

Result<KnownJob> choose_job(const std::vector<KnownJob>& jobs, const JobId& job) {
    const auto asked = named_run(job);
    const auto* found = job.empty()               ? latest_of_all(jobs)
                        : asked.name == job.str() ? latest_run(jobs, asked.name)
                                                  : exact_job(jobs, job);
    if (found == nullptr && asked.run == 1) {
        found = exact_job(jobs, JobId(asked.name));
    }
    if (found != nullptr) {
        return *found;
    }
    std::vector<std::string_view> names;
    for (auto known = jobs.rbegin(); known != jobs.rend(); ++known) {
        if (!is_of_setup(*known)) {
            names.push_back(known->job.str());
        }
    }
    Error error{ErrorKind::not_found, "",
                job.empty() ? "no job has run on these nodes"
                            : "there is no job `" + printable(job.str()) + "`"};
    if (!names.empty()) {
        const auto meant = nearest(job.str(), names);
        const auto shown = std::min(names.size(), most_shown_jobs);
        error.hint =
            fmt::format("{}the latest {}: {}{}", meant.empty() ? "" : "did you mean `" + meant + "`? ",
                        shown == 1 ? "is" : "are",
                        fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                        names.size() > shown ? "; `dockdist jobs` shows all" : "");
    }
    return error;
}

std::set<std::string> left_out_of(const KnownJob& job) {
    std::set<std::string> nodes;
    for (const auto& part : job.parts) {
        nodes.insert(part.summary.result.left_out.begin(), part.summary.result.left_out.end());
    }
    return nodes;
}

const wire::JobSummary& latest_of(const KnownJob& job) {
    return std::ranges::max_element(job.parts, {},
                                    [](const KnownPart& part) { return part.summary.result.attempt; })
        ->summary;
}

std::vector<const KnownPart*> parts_of(const wire::JobPolicy& policy, const KnownJob& job) {
    std::vector<const KnownPart*> parts;
    for (const auto& part : policy.parts) {
        const auto found = std::ranges::find(job.parts, NodeName(part.node),
                                             [](const KnownPart& other) { return other.node.name; });
        if (part.lost) {
            parts.push_back(nullptr);
        } else if (found != job.parts.end()) {
            parts.push_back(&*found);
        } else {
            return {};
        }
    }
    return parts;
}

} // namespace dockdist
