#include "node/job/job_store.hpp"
#include "node/job/log/log_reader.hpp"
#include "node/job/supervisor.hpp"
#include "patience.hpp"
#include "shared/core/new_file.hpp"
#include "unit/node/scratch.hpp"
#include "unit/node/turned_loop.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace supervisor_test {

using namespace dockdist;
using namespace dockdist::node;
using Event = wire::JobEvent::Type;
using Order = wire::JobCommand::Type;

namespace {

constexpr std::int64_t lease_ms = 10000;

// A part with its real processes, sockets and files below a folder of the test's own, on time that the test
// turns.
struct Part {
    explicit Part(std::vector<std::string> argv, bool stays = false, std::int64_t timeout_ms = 0) {
        ::setenv("DOCKDIST_TEST_ROOT", scratch.path.c_str(), 1);
        REQUIRE(create_job(job).has_value());
        PreparedJob prepared;
        prepared.summary = {.job = job, .running = true, .started_ms = unix_ms(), .lease_ms = lease_ms};
        prepared.start = {.stays = stays, .argv = std::move(argv)};
        prepared.part.job = job;
        prepared.part.workdir = "/";
        prepared.account = {.name = "root", .uid = ::geteuid(), .gid = ::getegid(), .home = "/"};
        prepared.grace_ms = 5000;
        prepared.timeout_ms = timeout_ms;
        auto log = OutputLog::create(job_folder(job), wire::least_log_limit);
        REQUIRE(log.has_value());
        prepared.log = std::move(*log);
        prepared.control = listen_at(control_socket(job));
        prepared.ranks = door_at(rank_door(job));
        REQUIRE(prepared.enter_attempt(0).has_value());
        REQUIRE(save_summary(prepared.summary).has_value());
        part = supervise(time.loop, std::move(prepared));
        part->begin();
        time.settle();
    }
    ~Part() {
        part.reset();
        ::unsetenv("DOCKDIST_TEST_ROOT");
    }

    Peer follow() {
        Peer peer(control_socket(job));
        time.settle();
        return peer;
    }
    void order(Peer& client, wire::JobCommand command) {
        auto line = wire::job_command_line(command);
        line.pop_back();
        client.say(line);
        time.settle();
    }
    // What real processes do takes real time; the part's own stands still meanwhile.
    template <class Condition>
    void until(Condition condition) {
        const auto deadline = patience_ends();
        while (!condition()) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            (void)time.loop.turn(20);
        }
    }
    // The next event of this type that comes to `client`; the others before it are passed over.
    wire::JobEvent await(Peer& client, Event type) {
        auto& events = heard[&client];
        std::optional<wire::JobEvent> found;
        until([&] {
            time.pass(20); // what is left of an attempt is looked after every few milliseconds
            for (const auto& line : client.heard()) {
                if (auto event = wire::parse_job_event(line)) {
                    events.push_back(std::move(*event));
                }
            }
            while (!found && !events.empty()) {
                if (events.front().type == type) {
                    found = std::move(events.front());
                }
                events.pop_front();
            }
            return found.has_value();
        });
        return std::move(*found);
    }
    void until_it_writes() {
        until([this] { return log_extent(job_folder(job)).end > 0; });
    }
    void until_gone() {
        until([this] {
            if (!part->is_gone()) {
                time.pass(20);
            }
            return part->is_gone();
        });
    }
    wire::JobResult result() {
        const auto summary = load_summary(job);
        REQUIRE(summary.has_value());
        CHECK_FALSE(summary->running);
        return summary->result;
    }

    Scratch scratch{};
    std::string job = "unit-" + std::to_string(::getpid());
    TurnedLoop time{};
    std::unique_ptr<SupervisedPart> part{};
    std::map<const Peer*, std::deque<wire::JobEvent>> heard{};
};

const std::vector<std::string> stubborn{"sh", "-c", "trap '' TERM; echo ready; exec sleep 1000"};

} // namespace

TEST_CASE("a job's record is on the disk when it has begun and when it has ended, and not in between") {
    std::vector<bool> folders;
    syncing() = [&](int descriptor) {
        struct stat status{};
        REQUIRE(::fstat(descriptor, &status) == 0);
        folders.push_back(S_ISDIR(status.st_mode));
        return 0;
    };
    {
        Part job({});
        CHECK(folders == std::vector<bool>{false, true, true}); // the record, its folder, and all jobs'
        CHECK(save_summary(*load_summary(job.job)).has_value());
        CHECK(save_history(job.job, {}).has_value());
        CHECK(folders.size() == 3);
        job.time.pass(lease_ms + 1000);
        job.until_gone();
        CHECK(folders == std::vector<bool>{false, true, true, false, true});
    }
    syncing() = ::fsync;
}

TEST_CASE("a part that no client holds is ended after its lease, and its record says so") {
    Part job({});
    job.time.pass(lease_ms - 1);
    CHECK_FALSE(job.part->is_gone());
    job.time.pass(1001);
    job.until_gone();
    const auto result = job.result();
    CHECK(result.stopped);
    CHECK(result.reason == "lease");
}

TEST_CASE("a stop leaves the processes their grace, and kills what is left then") {
    Part job(stubborn);
    auto client = job.follow();
    job.until_it_writes();
    job.order(client, {.type = Order::stop, .grace_ms = 5000});
    job.time.pass(4900);
    CHECK_FALSE(job.part->is_gone());
    job.time.pass(200);
    job.until_gone();
    const auto result = job.result();
    CHECK(result.reason == "stop");
    CHECK(result.signal == SIGKILL);
    CHECK(job.await(client, Event::exited).result.reason == "stop");
}

TEST_CASE("a second stop of the same client does not wait") {
    Part job(stubborn);
    auto client = job.follow();
    job.until_it_writes();
    job.order(client, {.type = Order::stop, .grace_ms = 5000});
    job.order(client, {.type = Order::stop, .grace_ms = 5000});
    const auto before = job.time.now_ms;
    job.until_gone();
    CHECK(job.time.now_ms - before < 5000);
    CHECK(job.result().signal == SIGKILL);
}

TEST_CASE("a part is ended when its time is over") {
    Part job({}, false, 3000);
    auto client = job.follow();
    job.time.pass(2999);
    CHECK_FALSE(job.part->is_gone());
    job.time.pass(1);
    job.until_gone();
    CHECK(job.result().reason == "timeout");
}

TEST_CASE("a failure is told at once, also to a follower that comes later, and the part waits for orders") {
    Part job({"sh", "-c", "exit 7"}, true);
    auto client = job.follow();
    CHECK(job.await(client, Event::rank_failed).failure.code == 7);
    CHECK(job.await(client, Event::ended).result.code == 7);
    auto late = job.follow();
    CHECK(job.await(late, Event::rank_failed).failure.code == 7);
    CHECK_FALSE(job.part->is_gone());

    job.order(client, {.type = Order::begin, .attempt = 1});
    CHECK(job.await(client, Event::ended).attempt == 1);
    job.order(client, {.type = Order::begin, .attempt = 1}); // again: its answer may have been lost
    job.order(client, {.type = Order::over});
    job.until_gone();
    const auto result = job.result();
    CHECK(result.attempt == 1);
    CHECK(result.code == 7);
}

} // namespace supervisor_test
