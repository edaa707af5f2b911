// A job over fake nodes, whose side of the talk is a script each.
#pragma once

#include "client/async/interrupts.hpp"
#include "client/job/run_job.hpp"
#include "fakes/fake_engine.hpp"
#include "shared/wire/frame.hpp"

#include <boost/asio/io_context.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dockdist {

inline std::string output(std::string bytes, std::uint64_t position, std::int32_t rank = -1) {
    return wire::encode({.kind = wire::Frame::Kind::output,
                         .stream = 1,
                         .rank = rank,
                         .position = position,
                         .payload = std::move(bytes)});
}

inline std::string control(const wire::JobEvent& event) {
    return wire::encode({.kind = wire::Frame::Kind::control, .payload = wire::job_event(event)});
}

inline std::string prepared() {
    return control({.type = wire::JobEvent::Type::prepared, .facts = {.ports = {29500}}});
}

inline std::string started() {
    return control({.type = wire::JobEvent::Type::started, .pid = 7});
}

inline std::string exited(int code, int signal = 0) {
    return control({.type = wire::JobEvent::Type::exited, .result = {.code = code, .signal = signal}});
}

class Sink : public JobSink {
public:
    void output(const NodeName& node, int, StdStream, std::string_view bytes) override {
        text[node.str()] += bytes;
    }
    void aside(const NodeName& node, StdStream, std::string_view bytes) override {
        asides[node.str()] += bytes;
    }
    void flush() override {}
    std::map<std::string, std::string> text{}, asides{};
};

class Events : public Reporter {
public:
    void on(const Event& event) override { texts.push_back(event.subject + ": " + event.text); }
    void error(const Error&) override {}
    void finish() override {}
    std::vector<std::string> texts{};
};

// A job over fake nodes, node-0 … ; what each does is the script of its engine.
struct FakeJob {
    explicit FakeJob(int count) {
        for (int i = 0; i < count; ++i) {
            const auto name = "node-" + std::to_string(i);
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), name);
            const auto id = engine->add_container(name).id;
            nodes.push_back({.name = NodeName(name), .id = id, .host = static_cast<std::size_t>(i)});
            launches.push_back({.node = NodeName(name), .start = {.argv = {"train"}}});
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }

    OpenedJob open() {
        return run_task(io, open_job(engines, nodes, options, {}, {1, options.min_nodes > 0}));
    }

    JobOutcome run() { return run_task(io, run_job(open(), launches, options, interrupts, sink, events)); }

    boost::asio::io_context io{};
    JobOptions options{.job = JobId("job-1")};
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    std::vector<ReadyNode> nodes{};
    std::vector<NodeLaunch> launches{};
    Interrupts interrupts{};
    Sink sink{};
    Events events{};
};

// The two lines with which the client begins.
inline Task<wire::JobStart> start_of(FakeExec exec) {
    co_await exec.read_line();
    exec.out(prepared());
    const auto line = co_await exec.read_line();
    co_return *wire::parse_job_start(line.value_or(""));
}

// Says that it has started, waits to be told to stop, and obeys.
inline FakeEngine::ExecScript until_stopped(std::vector<std::string>& commands) {
    return [&commands](FakeExec exec) -> Task<int> {
        co_await start_of(exec);
        exec.out(started());
        std::string reason = "stop";
        while (const auto line = co_await exec.read_line()) {
            commands.push_back(*line);
            const auto type = wire::parse_job_command(*line)->type;
            if (type == wire::JobCommand::Type::over) {
                reason = "over";
            }
            if (type == wire::JobCommand::Type::stop || type == wire::JobCommand::Type::over) {
                break;
            }
        }
        exec.out(control({.type = wire::JobEvent::Type::exited,
                          .result = {.code = 143, .signal = 15, .stopped = true, .reason = reason}}));
        co_return 0;
    };
}

} // namespace dockdist
