#include "client/job/wait_for_gpus.hpp"
#include "fakes/cancellable.hpp"
#include "unit/job/fake_job.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <optional>

namespace wait_for_gpus_test {

using namespace dockdist;
using namespace std::chrono_literals;
using State = wire::GpuTurn::State;
using Type = wire::JobCommand::Type;

namespace {

const wire::GpuUnit gpu_0{.id = "GPU-a", .index = 0, .name = "NVIDIA L4"};
const wire::GpuHold held_by_other{
    .unit = gpu_0,
    .by = {.cluster = "vision", .node = "node-0", .job = "job-a", .owner = "user-a@desk", .age_s = 720}};

// A node's side of the talk: one GPU, which somebody may have.
class GpuNode {
public:
    GpuNode(FakeEngine& engine, bool is_free) : is_free(is_free) {
        engine.on_exec("job start", [this](FakeExec exec) { return play(exec); });
    }

    // Says by itself that it is free now.
    void become_free() {
        is_free = true;
        say(turn(State::fits));
    }
    void say(wire::GpuTurn turn) {
        turn.order = order_;
        exec_->out(control({.type = wire::JobEvent::Type::turn, .turn = std::move(turn)}));
    }
    void fail(const Error& error) {
        exec_->out(control({.type = wire::JobEvent::Type::error, .error = error}));
    }
    void cut() { exec_->break_stream({ErrorKind::unreachable, "", "connection reset", ""}); }
    bool client_gone() const { return exec_->client_gone(); }

    bool is_free;
    bool is_old = false; // knows of no looks
    int proposal = 1;
    std::function<void(const wire::JobCommand&)> on_command{};
    std::vector<std::string> heard{}; // without pings
    std::vector<wire::JobOpening> openings{};
    bool has_started = false;
    wire::BeforeStart before{};

private:
    Task<int> play(FakeExec exec) {
        exec_ = exec;
        order_ = 0;
        const auto opening = wire::parse_job_opening((co_await exec.read_line()).value_or(""));
        openings.push_back(*opening);
        openings.back().gpus.look = openings.back().gpus.look && !is_old;
        const auto state = opening->gpus.share            ? State::none
                           : is_old && opening->gpus.look ? State::none
                           : opening->gpus.look           ? (is_free ? State::fits : State::waits)
                           : opening->gpus.number > 0     ? (is_free ? State::fits : State::waits)
                           : is_free                      ? State::taken
                                                          : State::waits;
        exec.out(control({.type = wire::JobEvent::Type::prepared,
                          .facts = {.ports = {29500}, .gpus = turn(state, opening->gpus.number)}}));
        while (const auto line = co_await exec.read_line()) {
            const auto command = wire::parse_job_command(*line);
            if (!command) {
                const auto start = wire::parse_job_start(*line);
                has_started = start.has_value();
                before = has_started ? start->before : before;
                exec.out(started() + output("hello\n", 0) + exited(0));
                break;
            }
            if (command->type == Type::ping) {
                exec.out(wire::encode({.kind = wire::Frame::Kind::pong}));
                continue;
            }
            heard.push_back((command->type == Type::line   ? "line "
                             : command->type == Type::take ? "take "
                                                           : "look ") +
                            std::to_string(command->number));
            order_ = command->order;
            if (on_command) {
                on_command(*command);
            }
            say(command->type == Type::take && is_free
                    ? turn(State::taken)
                    : turn(is_free ? State::fits : State::waits,
                           command->number == 0 ? proposal : command->number));
        }
        co_return 0;
    }

    wire::GpuTurn turn(State state, std::int64_t number = 0) const {
        wire::GpuTurn turn{.state = state, .number = number, .wanted = 1, .looks = openings.back().gpus.look};
        if (state == State::taken) {
            turn.units = {gpu_0};
        } else if (state == State::waits) {
            turn.place = 1;
            turn.held = {held_by_other};
        }
        return turn;
    }

    std::optional<FakeExec> exec_{};
    std::int64_t order_ = 0;
};

std::string lines(const std::vector<std::string>& texts) {
    std::string all;
    for (const auto& text : texts) {
        all += text + "\n";
    }
    return all;
}

struct Told : Reporter {
    void on(const Event& event) override {
        texts.push_back(event.kind == Event::Kind::waited          ? "(waited)"
                        : event.kind == Event::Kind::still_waiting ? "(still) " + event.text
                        : event.subject.empty()                    ? event.text
                                                                   : event.subject + ": " + event.text);
        if (after_each) {
            after_each(event);
        }
    }
    void error(const Error&) override {}
    void finish() override {}
    std::vector<std::string> texts{};
    std::function<void(const Event&)> after_each{};
};

struct Waiting : FakeJob {
    explicit Waiting(std::vector<bool> free) : FakeJob(static_cast<int>(free.size())) {
        for (std::size_t i = 0; i < free.size(); ++i) {
            gpus.push_back(std::make_unique<GpuNode>(*fakes[i], free[i]));
        }
        options.gpus = {.count = 1};
        options.cluster = "vision";
    }

    Status wait() {
        opened.emplace(open());
        return run_task(io, wait_for_gpus(*opened, options, told));
    }
    // "node-0: GPU-a".
    std::string taken() const { return taken_text(turns_of(*opened)); }

    std::vector<std::unique_ptr<GpuNode>> gpus{};
    Told told{};
    std::optional<OpenedJob> opened{};
};

const char* const waits_for =
    "waiting for 1 GPU on 2 nodes: node-1 GPU 0 job-a (user-a@desk, 12 min); place 1 "
    "in line";

} // namespace

TEST_CASE("where all GPUs are free nothing is said") {
    Waiting job({true, true});
    CHECK(job.wait().has_value());
    CHECK(job.taken() == "GPU 0 on node-0, node-1");
    CHECK(job.gpus[0]->heard.empty());
    CHECK(job.told.texts.empty());
    CHECK(job.gpus[0]->openings.at(0).gpus == wire::GpuAsk{.count = 1});
}

TEST_CASE("a job waits until it fits on all of its nodes, says for whom, and then runs") {
    Waiting job({true, false});
    job.gpus[1]->proposal = 5;
    job.gpus[1]->on_command = [&](const wire::JobCommand& command) {
        if (command.number == 5 && !job.gpus[1]->is_free) {
            boost::asio::post(job.io, [&] { job.gpus[1]->become_free(); });
        }
    };
    const auto begun = LeaseClock::now();
    CHECK(job.wait().has_value());
    for (const auto& node : job.gpus) {
        CHECK(lines(node->heard) == "line 0\nline 5\ntake 0\n");
    }
    auto& waited = job.opened->waited;
    REQUIRE(waited.has_value());
    CHECK(waited->until - waited->time >= begun);
    waited = {.time = 5s, .until = waited->until - 70ms}; // as if both had taken longer
    CHECK(lines(job.told.texts) == lines({waits_for, "(waited)"}));
    CHECK(job.taken() == "GPU 0 on node-0, node-1");
    const auto outcome = run_task(job.io, run_job(std::move(*job.opened), job.launches, job.options,
                                                  job.interrupts, job.sink, job.events));
    CHECK(outcome.exit_code() == 0);
    CHECK(job.sink.text == std::map<std::string, std::string>{{"node-0", "hello\n"}, {"node-1", "hello\n"}});
    for (const auto& node : job.gpus) { // for their records
        CHECK(node->before.waited_ms == 5000);
        CHECK(node->before.held_ms >= 70);
    }
}

TEST_CASE("a job that is not to wait, or not for longer, fails and says who has what") {
    Waiting job({true, false});
    std::string said;
    SUBCASE("not at all") {
        job.options.wait = 0ms;
        said = "1 GPU on 2 nodes not available now";
    }
    SUBCASE("not for longer") {
        job.options.wait = 20ms;
        said = "1 GPU on 2 nodes did not become free within 20 ms";
    }
    const auto waited = job.wait();
    REQUIRE(waited.has_error());
    CHECK(waited.error().kind == ErrorKind::busy);
    CHECK(waited.error().message == said + ": node-1 GPU 0 job-a (user-a@desk, 12 min); place 1 in line");
    CHECK((job.told.texts.empty() || job.options.wait->count() > 0)); // it does not say that it waits
    job.opened.reset();
    job.io.poll();
    CHECK(job.gpus[0]->client_gone());
    CHECK(job.gpus[1]->client_gone());
}

TEST_CASE("a node that is lost, or says that waiting is futile, ends the wait by its name") {
    Waiting job({false, false});
    std::string message;
    SUBCASE("its container is gone") {
        job.gpus[1]->on_command = [&](const wire::JobCommand& command) {
            if (command.number > 0) {
                job.fakes[1]->containers.clear();
                boost::asio::post(job.io, [&] { job.gpus[1]->cut(); });
            }
        };
        message = "node-1: the node's container is gone or does not run\n  see `dockdist status`";
    }
    SUBCASE("it says what is wrong") {
        job.gpus[1]->on_command = [&](const wire::JobCommand&) {
            job.gpus[1]->fail({ErrorKind::node, "", "nvidia-smi does not answer", "look at the host"});
        };
        message = "node-1: nvidia-smi does not answer\n  look at the host";
    }
    const auto waited = job.wait();
    REQUIRE(waited.has_error());
    CHECK(to_text(waited.error()) == message);
}

TEST_CASE("a stream that breaks is opened anew, with the job's place in line and its ports") {
    Waiting job({true, false});
    bool cut = false;
    job.gpus[1]->on_command = [&](const wire::JobCommand& command) {
        if (command.number > 0 && !cut) {
            cut = true;
            boost::asio::post(job.io, [&] { job.gpus[1]->cut(); });
        } else if (command.number > 0 && !job.gpus[1]->is_free) {
            boost::asio::post(job.io, [&] { job.gpus[1]->become_free(); });
        }
    };
    CHECK(job.wait().has_value());
    REQUIRE(job.gpus[1]->openings.size() == 2);
    CHECK(job.gpus[1]->openings[1].gpus.number == 1);
    CHECK(job.gpus[1]->openings[1].same_ports == std::vector{29500});
    CHECK(lines(job.gpus[1]->heard) == "line 0\nline 1\nline 1\ntake 0\n");
    CHECK(job.gpus[0]->openings.size() == 1);
    CHECK(lines(job.told.texts) == lines({waits_for, "(still) " + std::string(waits_for), "(waited)"}));
}

TEST_CASE("a wait that is cancelled leaves no stream behind") {
    Waiting job({false, true});
    job.opened.emplace(job.open());
    Cancellable<Status> wait(job.io, wait_for_gpus(*job.opened, job.options, job.told));
    run_until(job.io, [&] { return !job.told.texts.empty(); });
    wait.cancel();
    wait.wait();
    CHECK(wait.ended_by_cancellation());
    job.opened.reset();
    job.io.poll();
    CHECK(job.gpus[0]->client_gone());
    CHECK(job.gpus[1]->client_gone());
}

namespace {

// Any one of its nodes.
struct Choosing : Waiting {
    using Waiting::Waiting;
    void open_to_choose() {
        NodeChoice choice{.nodes = nodes, .choice = {.seats = {{.count = 1}}}};
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            choice.choice.seats.front().among.push_back(i);
        }
        choice.choice.domains.resize(nodes.size());
        opened.emplace(run_task(io, open_any(engines, choice, options, {}, 1)));
    }
    Status wait_for_any() { return run_task(io, wait_for_gpus(*opened, options, told)); }
    std::string names() const {
        std::string text;
        for (const auto& node : nodes_of(*opened)) {
            text += node.name.str() + " ";
        }
        return text;
    }
};

} // namespace

TEST_CASE("of several nodes a job gets one that is free, and lets the others go") {
    Choosing job({false, true, true});
    job.open_to_choose();
    CHECK(job.names() == "node-1 ");
    CHECK(job.wait_for_any().has_value());
    CHECK(job.names() == "node-1 ");
    CHECK(lines(job.gpus[1]->heard) == "take 0\n");
    CHECK(job.told.texts.empty());
    job.io.poll();
    CHECK(job.gpus[0]->client_gone());
    CHECK(job.gpus[2]->client_gone());
    const auto outcome = run_task(job.io, run_job(std::move(*job.opened), {job.launches[1]}, job.options,
                                                  job.interrupts, job.sink, job.events));
    CHECK(outcome.exit_code() == 0);
    CHECK(job.sink.text == std::map<std::string, std::string>{{"node-1", "hello\n"}});
}

TEST_CASE("while it waits for one node it takes another that becomes free first") {
    Choosing job({false, false});
    job.open_to_choose();
    CHECK(job.names() == "node-0 "); // where it would wait
    job.told.after_each = [&](const Event&) {
        boost::asio::post(job.io, [&] { job.gpus[1]->become_free(); });
    };
    CHECK(job.wait_for_any().has_value());
    CHECK(job.names() == "node-1 ");
    CHECK(lines(job.gpus[0]->heard) == "line 0\nline 1\n");
    CHECK(lines(job.gpus[1]->heard) == "take 0\n");
    CHECK(job.told.texts.front() == "waiting for 1 GPU on any 1 of 2 nodes: node-0 GPU 0 job-a (user-a@desk, "
                                    "12 min); place 1 in line");
}

TEST_CASE("a node that cannot say how it stands is left out, or ends the job where none is left") {
    Choosing job({true, true});
    job.fakes[0]->containers.clear();
    job.open_to_choose();
    CHECK(job.opened->errors.empty());
    CHECK(job.opened->left_out.size() == 1);
    CHECK(job.names() == "node-1 ");
    job.fakes[1]->containers.clear();
    job.open_to_choose();
    CHECK(job.opened->errors.size() == 2);
}

TEST_CASE("a node that is lost while a job looks at it is done without") {
    Choosing job({false, false});
    job.open_to_choose();
    bool lost = false;
    job.told.after_each = [&](const Event&) {
        if (!std::exchange(lost, true)) {
            job.fakes[0]->containers.clear();
            boost::asio::post(job.io, [&] { job.gpus[0]->cut(); });
        } else {
            boost::asio::post(job.io, [&] { job.gpus[1]->become_free(); });
        }
    };
    CHECK(job.wait_for_any().has_value());
    CHECK(job.names() == "node-1 ");
}

TEST_CASE("a job that is to look and finds an older node, which shares, says so") {
    Choosing job({true, true});
    job.gpus[0]->is_old = true;
    job.open_to_choose();
    CHECK_FALSE(job.opened->looks);
}

TEST_CASE("the same obstacle is told once, and a GPU that is not given out is said") {
    Waiting job({false});
    job.told.after_each = [&](const Event& event) {
        if (event.kind == Event::Kind::still_waiting) {
            job.gpus[0]->become_free();
        }
        if (event.kind != Event::Kind::waiting) {
            return;
        }
        auto older = held_by_other;
        older.by.age_s = 800;
        job.gpus[0]->say({.state = State::waits,
                          .number = 1,
                          .wanted = 1,
                          .place = 1,
                          .held = {older},
                          .left_out = {"GPU 1 has 3 uncorrected memory errors"}});
    };
    CHECK(job.wait().has_value());
    CHECK(lines(job.told.texts) ==
          "waiting for 1 GPU on node-0: node-0 GPU 0 job-a (user-a@desk, 12 min); place 1 in line\n"
          "node-0: GPU 1 has 3 uncorrected memory errors: it is not given to jobs\n"
          "(still) waiting for 1 GPU on node-0: node-0 GPU 0 job-a (user-a@desk, 13 min); place 1 in line\n"
          "(waited)\n");
}

} // namespace wait_for_gpus_test
