#include "client/async/async_event.hpp"
#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/async/with_watch.hpp"
#include "client/cli/context.hpp"
#include "client/cli/key_watch.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/looking/cluster_jobs.hpp"
#include "client/cli/looking/full_screen.hpp"
#include "client/cli/looking/node_feeds.hpp"
#include "client/top/top_json.hpp"
#include "client/top/top_screen.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <unistd.h>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr std::array view_words{"node", "gpu", "job", "rank"}; // in the order of TopView
constexpr auto first_words = 10s; // beside the intervals, for each node's first words
constexpr auto least_between_frames = 100ms;
constexpr auto between_looks_at_jobs = 500ms;
constexpr auto jobs_are_old_after = 5s; // every node is asked, which costs a process there

struct TopOptions {
    std::vector<std::string> nodes{};
    std::string job{}, interval = "1s", by = "node";
    bool once = false;
};

TopView view_of(const std::string& word) {
    const auto* const found = std::ranges::find(view_words, word);
    return found == view_words.end() ? TopView::nodes
                                     : top_views.at(static_cast<std::size_t>(found - view_words.begin()));
}

// What is wrong, and what to do: all that a row has room for.
std::string sentence_of(const Error& why) {
    return why.message + (why.hint.empty() ? "" : ": " + why.hint);
}

// What the feeds bring, and whoever shows it.
class TopRun {
public:
    TopRun(Context& context, const Connected& cluster, const TopOptions& options,
           const std::vector<std::string>& only, std::chrono::milliseconds interval)
        : context_(context), options_(options), interval_(interval),
          feeds_(context, cluster, only, static_cast<int>(interval.count()),
                 {.sample =
                      [this](std::size_t node, const wire::SampleFacts& facts, wire::Sample sample) {
                          model_.hear(node, facts, std::move(sample));
                          changed_.set();
                      },
                  .trouble =
                      [this](std::size_t node, const Error& why) {
                          model_.lose(node, sentence_of(why));
                          changed_.set();
                      }}),
          model_(cluster.spec.name.str(), feeds_.names(), options.job), jobs_(context, cluster, feeds_),
          changed_(context.executor) {
        state_.view = view_of(options.by);
    }

    Task<int> run() {
        const bool on_screen =
            !context_.json() && !options_.once && ::isatty(STDIN_FILENO) == 1 && context_.output().tty;
        const bool lasts = on_screen || (context_.json() && !options_.once);
        try {
            const auto shown = co_await with_watch(show(on_screen), follow(on_screen));
            co_return shown ? *shown : context_.fail(shown.error());
        } catch (const boost::system::system_error&) {
            if (context_.interrupts->count() == 0 || !lasts) {
                throw;
            }
        }
        co_return 0; // Ctrl-C is how it ends
    }

private:
    Task<Error> follow(bool on_screen) {
        std::vector<Task<Status>> tasks;
        tasks.push_back(follow_nodes());
        if (on_screen) {
            tasks.push_back(follow_jobs());
        }
        co_return (co_await run_all(std::move(tasks))).front().error();
    }
    Task<Status> follow_nodes() { co_return co_await feeds_.run(); }

    Task<void> look_at_jobs() {
        if (co_await jobs_.refresh(jobs_are_old_after)) {
            model_.know(jobs_.for_top());
            changed_.set();
        }
    }
    // While they are shown.
    Task<Status> follow_jobs() {
        while (true) {
            if (state_.view == TopView::jobs) {
                co_await look_at_jobs();
            }
            co_await pause_for(between_looks_at_jobs);
        }
    }

    Task<void> wait_until_complete() {
        co_await wait_until([this] { return model_.complete(); }, 2 * interval_ + first_words);
    }

    template <class Condition>
    Task<void> wait_until(Condition holds, std::chrono::milliseconds at_most) {
        const auto deadline = std::chrono::steady_clock::now() + at_most;
        while (!holds()) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
            changed_.reset();
            if (left <= 0ms || !co_await changed_.wait_at_most(left)) {
                co_return;
            }
        }
    }

    // A host that hangs holds nobody up where another one's node is there.
    Task<Result<int>> show(bool on_screen) {
        if (const auto errors = co_await feeds_.first_found(); !errors.empty()) {
            co_return context_.fail(errors);
        }
        if (!on_screen) {
            co_return co_await print_rounds();
        }
        FullScreen screen;
        co_return co_await with_watch(show_screen(screen), hear_signals(screen));
    }

    Task<Error> hear_signals(FullScreen& screen) {
        boost::asio::signal_set signals(context_.executor, SIGWINCH, SIGTSTP);
        while (true) {
            if (co_await signals.async_wait(boost::asio::use_awaitable) == SIGTSTP) {
                screen.suspend();
            }
            typed_ = true;
            changed_.set();
        }
    }

    Task<Result<int>> print_rounds() {
        co_await wait_until_complete();
        if (!context_.json()) {
            if (state_.view == TopView::jobs) {
                co_await look_at_jobs();
            }
            context_.show(top_text(model_, state_.view, context_.output()));
            co_return code();
        }
        FdSink sink;
        while (true) {
            auto round = top_json(model_);
            round["schema"] = output_schema;
            const auto line = round.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
            sink.write(STDOUT_FILENO, Displayable::json(line));
            if (options_.once || sink.failed() != 0) { // else until its reader goes
                co_return code();
            }
            co_await pause_for(interval_);
        }
    }

    // A node that does not answer is told in its row; a script hears of it, too.
    int code() const {
        return std::ranges::all_of(model_.nodes(), [](const TopNode& node) { return node.heard > 0; }) ? 0
                                                                                                       : 1;
    }

    Task<Result<int>> show_screen(FullScreen& screen) {
        TopKeyReader reader;
        const KeyWatch keys(context_.executor, [&](std::string_view bytes) {
            for (const auto& key : reader.read(bytes)) {
                press(state_, key, last_.sort_columns, last_.page);
            }
            typed_ = true;
            changed_.set();
        });
        while (!state_.over && !screen.broken()) {
            changed_.reset();
            typed_ = false;
            const auto size = terminal_size(STDOUT_FILENO);
            last_ = top_screen(model_, state_, size, context_.output());
            state_.first = last_.first;
            state_.skipped = last_.skipped;
            screen.draw(last_.lines, size);
            co_await changed_.wait();
            // The nodes' samples of one round come one after the other; a key is seen at once.
            co_await wait_until([this] { return typed_; }, least_between_frames);
        }
        co_return 0;
    }

    Context& context_;
    const TopOptions& options_;
    std::chrono::milliseconds interval_;
    NodeFeeds feeds_;
    TopModel model_;
    ClusterJobs jobs_;
    AsyncEvent changed_;
    TopState state_{};
    TopScreen last_{};
    bool typed_ = false;
};

Result<std::vector<std::string>> nodes_asked_for(const ClusterSpec& spec, const TopOptions& options) {
    std::vector<std::string> names;
    for (const auto& text : options.nodes) {
        const auto named = find_named(spec, {.option = "--node", .text = text});
        TRY(named);
        for (const auto& node : *named) {
            names.push_back(node.name.str());
        }
    }
    return names;
}

Task<int> run_top(Context& context, const TopOptions& options) {
    const auto interval = parse_duration(options.interval).value_or(1s);
    const auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    const auto only = nodes_asked_for(cluster.spec, options);
    if (!only) {
        co_return context.fail(only.error());
    }
    TopRun top(context, cluster, options, *only, interval);
    co_return co_await top.run();
}

} // namespace

void add_top(CLI::App& app, Program& program) {
    auto options = std::make_shared<TopOptions>();
    auto* command = describe(
        app.add_subcommand("top", "Show how busy the nodes, their GPUs and the ranks of jobs are, live; "
                                  "without a terminal one table, with -o json one object per sample"),
        command_group::looking,
        {"dockdist top", "dockdist top --by rank --job job-1a2b3c4d", "dockdist top --once -o json"});
    command
        ->add_option("--node", options->nodes,
                     "Only this node, by name or rank, or these: node-[0-3], @rack2; repeatable")
        ->type_name("NODES")
        ->allow_extra_args(false);
    command->add_option("--job", options->job, "Only what this job uses")->type_name("JOB");
    choice(
        command->add_option("--by", options->by, "What a row is, at first: node (default), gpu, job, rank"),
        {view_words.begin(), view_words.end()});
    duration(command->add_option("--interval", options->interval, "Time between two samples"),
             std::chrono::milliseconds(wire::least_sample_interval_ms),
             std::chrono::milliseconds(wire::most_sample_interval_ms))
        ->capture_default_str();
    command->add_flag("--once", options->once, "One table, or one object, and no more");
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_top(context, *options); };
    });
}

} // namespace dockdist
