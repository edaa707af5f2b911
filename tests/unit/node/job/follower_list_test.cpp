#include "node/job/follower_list.hpp"
#include "node/job/supervisor.hpp"
#include "unit/node/scratch.hpp"
#include "unit/node/turned_loop.hpp"

#include <optional>

namespace follower_list_test {

using namespace dockdist;
using namespace dockdist::node;
using Type = wire::JobCommand::Type;

namespace {

constexpr std::int64_t lease_ms = 10000;

struct Supervised {
    Supervised() {
        followers.on_order = [this](const wire::JobCommand& order, bool again) {
            orders.emplace_back(order.type, again);
        };
        followers.on_lease_over = [this] { ended_at_ms = time.now_ms - begun_ms; };
    }
    Peer join() {
        Peer peer(scratch / "control");
        time.settle();
        return peer;
    }
    void tell(Peer& peer, Type type) {
        auto line = wire::job_command_line({.type = type});
        line.pop_back();
        peer.say(line);
        time.settle();
    }

    Scratch scratch{};
    TurnedLoop time{};
    std::int64_t begun_ms = time.now_ms;
    std::vector<std::pair<Type, bool>> orders{};
    std::optional<std::int64_t> ended_at_ms{};
    FollowerList followers{time.loop, listen_at(scratch / "control"), lease_ms};
};

} // namespace

TEST_CASE("a job that no client holds ends after its lease, and not before") {
    Supervised job;
    job.time.pass(lease_ms - 1);
    CHECK_FALSE(job.ended_at_ms.has_value());
    job.time.pass(1001); // it is looked after once a second
    CHECK(job.ended_at_ms.has_value());
}

TEST_CASE("a client that pings holds the lease, for as long from its last word") {
    Supervised job;
    auto client = job.join();
    for (int i = 0; i < 10; ++i) {
        job.time.pass(lease_ms / 2);
        job.tell(client, Type::ping);
    }
    CHECK_FALSE(job.ended_at_ms.has_value());
    const auto last = job.time.now_ms - job.begun_ms;
    job.time.pass(10 * lease_ms);
    REQUIRE(job.ended_at_ms.has_value());
    CHECK(*job.ended_at_ms >= last + lease_ms);
    CHECK(*job.ended_at_ms <= last + lease_ms + 1000);
    CHECK(job.orders.empty()); // a ping is no order
}

TEST_CASE("the end of a stream is no word of its client, and neither is who looks in") {
    Supervised job;
    auto client = job.join();
    job.tell(client, Type::ping);
    job.time.pass(lease_ms / 2);
    job.join().close();
    client.close();
    job.time.pass(lease_ms / 2 + 1000);
    CHECK(job.ended_at_ms.has_value());
}

TEST_CASE("a client that is gone holds nothing, and one that comes in time takes its place") {
    Supervised job;
    auto first = job.join();
    job.tell(first, Type::ping);
    job.time.pass(lease_ms - 1000);
    auto second = job.join();
    job.tell(second, Type::ping);
    job.time.pass(lease_ms - 1000);
    CHECK_FALSE(job.ended_at_ms.has_value());
    second.close();
    job.time.pass(lease_ms + 1000);
    CHECK(job.ended_at_ms.has_value());
}

TEST_CASE("of two followers that stop a job, neither takes the grace that the other gave") {
    Supervised job;
    auto first = job.join();
    auto second = job.join();
    job.tell(first, Type::stop);
    job.tell(second, Type::stop);
    CHECK(job.orders == std::vector<std::pair<Type, bool>>{{Type::stop, false}, {Type::stop, false}});
    job.tell(first, Type::stop);
    CHECK(job.orders.back() == std::pair(Type::stop, true));
}

TEST_CASE("a follower that comes late is told what the others were, but not of an attempt before") {
    Supervised job;
    job.followers.tell("before");
    job.followers.forget_told();
    auto early = job.join();
    job.followers.tell("one");
    job.followers.tell("two");
    auto late = job.join();
    CHECK(early.heard() == std::vector<std::string>{"one", "two"});
    CHECK(late.heard() == std::vector<std::string>{"one", "two"});
    job.followers.say_goodbye("over");
    CHECK(early.heard() == std::vector<std::string>{"over"});
    CHECK(late.heard() == std::vector<std::string>{"over"});
    CHECK(late.is_closed());
}

TEST_CASE("an answer is for whoever has ordered") {
    Supervised job;
    auto asks = job.join();
    auto other = job.join();
    job.followers.on_order = [&](const wire::JobCommand&, bool) { job.followers.answer("detached"); };
    job.tell(asks, Type::detach);
    CHECK(asks.heard() == std::vector<std::string>{"detached"});
    CHECK(other.heard().empty());
}

TEST_CASE("who asks what ranks are doing is answered when that is known, and keeps no job alive") {
    Supervised job;
    std::function<void(const std::string&)> later;
    job.followers.on_order = [&](const wire::JobCommand&, bool) { later = job.followers.later_answer(); };
    auto asks = job.join();
    auto other = job.join();
    job.time.pass(lease_ms / 2);
    job.tell(asks, Type::stacks);
    later("one");
    CHECK(asks.heard() == std::vector<std::string>{"one"});
    CHECK(other.heard().empty());
    asks.close();
    job.time.pass(lease_ms / 2 + 1000);
    CHECK(job.ended_at_ms.has_value());
    later("two");
    CHECK(other.heard().empty());
}

TEST_CASE("a part that nobody has to hold outlives every lease") {
    Supervised job;
    job.followers.need_no_client();
    job.time.pass(100 * lease_ms);
    CHECK_FALSE(job.ended_at_ms.has_value());
}

namespace {

// The coordinator's end of the link.
struct Linked : Supervised {
    explicit Linked(bool pings_first) {
        auto to = make_pipe();
        auto from = make_pipe();
        REQUIRE((to && from));
        for (const auto* fd : {&to->read, &from->write}) {
            set_nonblocking(fd->get());
        }
        coordinator.emplace(Pipe{.read = std::move(from->read), .write = std::move(to->write)});
        followers.add_link({.read = std::move(to->read), .write = std::move(from->write)},
                           {.on_ping = [this](const std::string&) { return answer; },
                            .pings_first = pings_first,
                            .on_end = [this] { ++dropped; }});
    }
    std::optional<Peer> coordinator{};
    std::optional<std::string> answer = "pong\n";
    int dropped = 0;
};

} // namespace

TEST_CASE("the coordinator's pings are answered, and its orders obeyed") {
    Linked job(false);
    job.tell(*job.coordinator, Type::over);
    job.tell(*job.coordinator, Type::ping);
    CHECK(job.coordinator->heard() == std::vector<std::string>{"pong"});
    CHECK(job.orders == std::vector<std::pair<Type, bool>>{{Type::over, false}});
    job.coordinator->close();
    job.time.settle();
    CHECK(job.dropped == 1);
}

TEST_CASE("where others may take the job over, an order counts after a ping that was answered") {
    Linked job(true);
    job.tell(*job.coordinator, Type::over);
    CHECK(job.orders.empty());
    job.tell(*job.coordinator, Type::ping);
    job.tell(*job.coordinator, Type::halt);
    CHECK(job.orders == std::vector<std::pair<Type, bool>>{{Type::halt, false}});
}

TEST_CASE("a ping that is not answered is the link's last") {
    Linked job(true);
    job.answer.reset();
    job.tell(*job.coordinator, Type::ping);
    CHECK(job.coordinator->is_closed());
    CHECK(job.dropped == 1);
}

TEST_CASE("a link may be dropped from within, without a word") {
    Linked job(true);
    auto other = make_pipe();
    job.followers.add_link(std::move(*other), {});
    CHECK(job.coordinator->is_closed()); // of two the new one counts
    CHECK(job.dropped == 0);
    job.followers.drop_link();
    job.followers.tell("nobody hears it");
}

} // namespace follower_list_test
