#include "client/cli/files/set_up_nodes.hpp"

#include "client/job/run_job.hpp"
#include "client/report/display_text.hpp"
#include "client/report/line_splitter.hpp"
#include "client/report/step.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"
#include "shared/wire/setup.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace dockdist {
namespace {

// Its first line, not too long for a sentence.
std::string shown_line(const SetupSpec& line) {
    constexpr std::size_t longest = 60;
    const auto end = line.run.find('\n');
    const auto first = clipped(safe_cell(line.run.substr(0, end)), longest, true);
    return "`" + first + (end == std::string::npos || end + 1 == line.run.size() ? "" : " …") + "`";
}

wire::SetupLine to_wire(const SetupSpec& line) {
    return {.run = line.run,
            .user = line.user ? std::string(wire::setup_user) + *line.user : "",
            .target = line.target};
}

// Whole lines, with the name of the node that said them.
class SetupSink : public JobSink {
public:
    explicit SetupSink(Reporter& reporter) : reporter_(reporter) {}

    void output(const NodeName& node, int /*rank*/, StdStream stream, std::string_view bytes) override {
        streams_[{node, stream}].feed(bytes, [&](const LinePart& part) { tell(node, part); });
    }
    void flush() override {}
    void finish() {
        for (auto& [source, splitter] : streams_) {
            splitter.end([&](const LinePart& part) { tell(source.first, part); });
        }
    }

private:
    void tell(const NodeName& node, const LinePart& part) {
        reporter_.on({.kind = Event::Kind::note, .subject = node.str(), .text = std::string(part.text)});
    }

    Reporter& reporter_;
    std::map<std::pair<NodeName, StdStream>, LineSplitter> streams_{};
};

// What the jobs themselves would tell: the lines and how they ended are told here.
struct NoReporter : Reporter {
    void on(const Event&) override {}
    void error(const Error&) override {}
    void finish() override {}
};

class NodeSetup {
public:
    NodeSetup(Context& context, const ClusterSpec& spec, const Engines& engines, std::vector<ReadyNode> nodes,
              const SetupOptions& options)
        : context_(context), spec_(spec), engines_(engines), nodes_(std::move(nodes)), options_(options) {}

    Task<SetupResult> run() {
        SetupResult result;
        result.errors = co_await ask();
        const bool any_new = std::ranges::any_of(states_, [&](const auto& states) {
            return std::ranges::any_of(states, [&](const auto& state) { return wants(state); });
        });
        if (!result.errors.empty() || !any_new) {
            co_return result;
        }
        const auto begin = std::chrono::steady_clock::now();
        context_.reporter->on({.kind = Event::Kind::phase_started, .phase = "setup"});
        for (std::size_t i = 0; i < spec_.setup.size() && result.errors.empty(); ++i) {
            result.errors = co_await run_line(i, result.lines.emplace_back());
        }
        context_.reporter->on({.kind = Event::Kind::phase_finished,
                               .phase = "setup",
                               .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::steady_clock::now() - begin)});
        co_return result;
    }

private:
    bool wants(const wire::SetupState& state) const { return options_.again || !state.done; }

    JobOptions job_options(const std::string& name, const std::optional<std::string>& user) const {
        JobOptions job{.job = JobId(name),
                       .user = user.value_or(spec_.container.user),
                       .workdir = spec_.container.workdir,
                       .owner = user_and_machine(),
                       .cluster = spec_.name.str()};
        for (const auto& secret : spec_.container.secrets) {
            job.secrets[secret.name] = secret.value;
        }
        return job;
    }

    // Nothing runs for it, and nothing is written.
    Task<Errors> ask() {
        std::vector<std::string> argv{layout::init, "setup", "state"};
        for (const auto& line : spec_.setup) {
            argv.push_back(to_text(to_wire(line)));
        }
        const auto opened =
            co_await open_job(engines_, nodes_, job_options(name_, std::nullopt), {{"setup", argv}}, {});
        auto errors = opened.errors;
        for (std::size_t i = 0; i < opened.facts.size() && errors.empty(); ++i) {
            auto states = read_states(opened.facts[i]);
            if (states) {
                states_.push_back(std::move(*states));
            } else {
                errors.push_back(states.error());
                errors.back().where = nodes_[i].name.str();
            }
        }
        co_return errors;
    }

    Result<std::vector<wire::SetupState>> read_states(const wire::LaunchFacts& facts) const {
        const auto& answer = facts.answers.at(0);
        if (answer.code != 0) {
            return Error{ErrorKind::node, "",
                         "it does not say which commands of `setup` were run: " + safe_cell(answer.output),
                         ""};
        }
        std::vector<wire::SetupState> states;
        for (const auto& line : split(answer.output, '\n')) {
            if (line.empty()) {
                continue;
            }
            auto state = wire::parse_setup_state(line);
            TRY(state);
            states.push_back(std::move(*state));
        }
        if (states.size() != spec_.setup.size()) {
            return Error{ErrorKind::protocol, "", "it does not say which commands of `setup` were run", ""};
        }
        return states;
    }

    Task<Errors> run_line(std::size_t index, SetupDone& done) {
        const auto& line = spec_.setup[index];
        std::vector<ReadyNode> nodes;
        std::vector<NodeLaunch> launches;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const auto& state = states_[i][index];
            if (!wants(state)) {
                done.before.push_back(nodes_[i].name);
                continue;
            }
            auto command = to_wire(line);
            command.digest = state.digest;
            command.again = options_.again ? run_word_ : "";
            nodes.push_back(nodes_[i]);
            NodeLaunch launch{.node = nodes_[i].name};
            launch.start.argv = {layout::init, "setup", "run", to_text(command)};
            launches.push_back(std::move(launch));
        }
        if (nodes.empty()) {
            co_return Errors{};
        }
        for (const auto& node : nodes) {
            done.done.push_back(node.name);
        }
        Step step(*context_.reporter, "setup", fmt::format("{} of {}", index + 1, spec_.setup.size()),
                  shown_line(line));
        auto errors = co_await run_on(nodes, std::move(launches), index);
        if (errors.empty()) {
            step.finished(shown_line(line) + " on " + names_of(done.done));
        } else {
            step.failed(shown_line(line));
        }
        co_return errors;
    }

    Task<Errors> run_on(const std::vector<ReadyNode>& nodes, std::vector<NodeLaunch> launches,
                        std::size_t index) {
        const auto& line = spec_.setup[index];
        const auto job = job_options(name_ + "." + std::to_string(index + 1), line.user);
        auto opened = co_await open_job(engines_, nodes, job, {}, {});
        if (!opened.errors.empty()) {
            co_return opened.errors;
        }
        NoReporter quiet;
        SetupSink sink(*context_.reporter);
        const auto outcome =
            co_await run_job(std::move(opened), std::move(launches), job, *context_.interrupts, sink, quiet);
        sink.finish();
        if (outcome.interrupted) {
            throw boost::system::system_error(boost::asio::error::operation_aborted);
        }
        if (outcome.ended_well()) {
            co_return Errors{};
        }
        if (outcome.first_failure) {
            co_return Errors{failure_of(*outcome.first_failure, index)};
        }
        auto errors = end_errors(outcome, job.job);
        if (errors.empty()) {
            errors.push_back({ErrorKind::job, "setup", shown_line(line) + " was stopped", ""});
        }
        co_return errors;
    }

    Error failure_of(const wire::JobFailure& failure, std::size_t index) const {
        const auto& line = spec_.setup[index];
        const auto how = !failure.finding.empty() ? failure.finding
                         : failure.signal != 0    ? fmt::format("was ended by signal {}{}", failure.signal,
                                                             failure.oom ? ", out of memory" : "")
                                                  : fmt::format("ended with exit code {}", failure.code);
        return {ErrorKind::job, failure.node,
                fmt::format("setup, command {} of {}: {} {}", index + 1, spec_.setup.size(), shown_line(line),
                            how),
                fmt::format("look at the node with `dockdist ssh {}`; `dockdist setup` goes on from there",
                            failure.node)};
    }

    static std::string names_of(const std::vector<NodeName>& nodes) {
        constexpr std::size_t most = 8;
        std::vector<std::string> names;
        std::ranges::transform(nodes, std::back_inserter(names), &NodeName::str);
        return first_names(names, most);
    }

    Context& context_;
    const ClusterSpec& spec_;
    const Engines& engines_;
    std::vector<ReadyNode> nodes_;
    const SetupOptions& options_;
    std::string run_word_ = random_hex(wire::setup_digest_size);
    std::string name_ = "setup-" + run_word_.substr(0, 8);
    std::vector<std::vector<wire::SetupState>> states_{}; // by node and line
};

} // namespace

Task<SetupResult> set_up_nodes(Context& context, const ClusterSpec& spec, const Engines& engines,
                               std::vector<ReadyNode> nodes, const SetupOptions& options) {
    if (spec.setup.empty() || options.skip || nodes.empty()) {
        co_return SetupResult{};
    }
    NodeSetup setup(context, spec, engines, std::move(nodes), options);
    co_return co_await setup.run();
}

} // namespace dockdist
