#include "unit/job_state/simulated_parts.hpp"

#include <random>
#include <string>

namespace succession_test {

using namespace dockdist;
using namespace dockdist::simulated;

namespace {

using Parts = std::vector<std::size_t>;

} // namespace

TEST_CASE("as long as all goes well the first part decides, and nobody else") {
    Cluster job(5);
    job.pass(100 * lease_ms);
    CHECK(job.deciders() == Parts{0});
    for (const std::size_t i : {1U, 2U, 3U, 4U}) {
        CHECK(job.of(i).term() == 0);
        CHECK_FALSE(job.of(i).is_searching());
    }
}

TEST_CASE("the next living part takes over from one that is gone, frozen or cut off") {
    for (const std::size_t parts : {3U, 4U, 7U}) {
        for (const auto* what : {"gone", "frozen", "cut off"}) {
            CAPTURE(parts);
            CAPTURE(what);
            Cluster job(parts);
            job.pass(3 * lease_ms);
            if (*what == 'g') {
                job.kill(0);
            } else if (*what == 'f') {
                job.freeze(0, 3 * settled_ms);
            } else {
                job.cut_off(0);
            }
            job.pass(settled_ms);
            CHECK(job.deciders() == Parts{1});
            CHECK(job.of(1).term() == 1);
            CHECK(job.of(1).record().policy.parts[0].lost);
            job.pass(4 * settled_ms);
            CHECK(job.of(1).record().attempt == 1);
            CHECK(job.works(1));
            job.mend_all();
            job.pass(settled_ms);
            CHECK(job.deciders() == Parts{1});
            CHECK(job.role(0) == (*what == 'g' ? Role::coordinator : Role::over)); // the dead have no role
        }
    }
}

TEST_CASE("a coordinator that was frozen decides nothing when it wakes up, whatever waits for it there") {
    Cluster job(3);
    job.pass(3 * lease_ms);
    job.freeze(0, lease_ms + 1);
    job.pass(lease_ms);
    CHECK(job.deciders().empty());
    job.pass(tick_ms + 2);
    CHECK_FALSE(job.of(0).may_act(job.now));
    CHECK(job.role(0) == Role::over);
}

TEST_CASE("where the next one is gone too, the one after it takes over") {
    Cluster job(5);
    job.pass(3 * lease_ms);
    job.kill(0);
    job.kill(1);
    job.pass(settled_ms);
    CHECK(job.deciders() == Parts{2});
}

TEST_CASE(
    "one after another is lost, until two are left: the last coordinator goes on alone, its heir cannot") {
    Cluster job(5);
    for (const std::size_t next : {1U, 2U, 3U}) {
        job.pass(3 * lease_ms);
        job.kill(next - 1);
        job.pass(settled_ms);
        CHECK(job.deciders() == Parts{next});
    }
    SUBCASE("the member is lost") {
        job.kill(4);
        job.pass(settled_ms);
        CHECK(job.deciders() == Parts{3});
    }
    SUBCASE("the coordinator is lost") {
        job.kill(3);
        job.pass(2 * lease_ms);
        CHECK(job.deciders().empty());
        CHECK(job.role(4) == Role::over);
    }
}

TEST_CASE("of two parts the second ends when the first is silent, and the first goes on when the second is") {
    Cluster job(2);
    job.pass(3 * lease_ms);
    job.cut(0, 1);
    job.pass(lease_ms + 3 * tick_ms);
    CHECK(job.deciders() == Parts{0});
    CHECK(job.role(1) == Role::over);
}

TEST_CASE("of a cut network the greater side goes on, and the other one ends") {
    Cluster job(5);
    job.pass(3 * lease_ms);
    for (const std::size_t here : {0U, 4U}) {
        for (const std::size_t there : {1U, 2U, 3U}) {
            job.cut(here, there);
        }
    }
    job.pass(settled_ms);
    CHECK(job.deciders() == Parts{1});
    CHECK(job.role(0) == Role::over);
    job.pass(3 * settled_ms);
    CHECK(job.role(4) == Role::over);
    CHECK(job.of(1).record().policy.parts[4].lost);
}

TEST_CASE("a network that is cut everywhere for a while leaves one that decides when it is whole again") {
    Cluster job(4);
    job.pass(3 * lease_ms);
    for (std::size_t i = 0; i < 4; ++i) {
        job.cut_off(i);
    }
    job.pass(lease_ms + 3000);
    CHECK(job.deciders().empty());
    job.mend_all();
    job.pass(settled_ms);
    CHECK(job.deciders().size() == 1);
}

TEST_CASE("a part that alone is cut off from the coordinator moves nobody into another term") {
    Cluster job(5);
    job.pass(3 * lease_ms);
    job.cut(0, 3);
    job.pass(4 * settled_ms);
    CHECK(job.deciders() == Parts{0});
    CHECK(job.role(3) == Role::over);
    CHECK(job.of(1).term() == 0);
}

TEST_CASE("a coordinator that resigns is followed at once") {
    Succession member(1, policy_of(3), 0, lease_ms, 0);
    REQUIRE(member.hear(wire::LinkPing{.term = 0, .number = 1, .leads = true}, 100).has_value());
    member.tick(lease_ms);
    CHECK_FALSE(member.is_searching());
    REQUIRE(member.hear(wire::LinkPing{.term = 0, .number = 2, .leads = true, .resigns = true}, lease_ms)
                .has_value());
    member.tick(lease_ms);
    CHECK(member.is_searching());
    CHECK(member.former_resigned());
    CHECK(member.role() == Role::candidate);
}

TEST_CASE("who stands for coordinator takes the newest record of its voters before it begins") {
    Succession stands(1, policy_of(3), 0, lease_ms, 0);
    stands.tick(lease_ms);
    REQUIRE(stands.role() == Role::candidate);
    REQUIRE(stands.greet({.part = 2, .term = 1}, lease_ms) == Succession::Answer::welcome);
    wire::JobRecord newer{.version = {0, 7}, .attempt = 3, .policy = policy_of(3)};
    newer.policy.members = {1, 2};
    const auto ping = stands.ping(2, lease_ms);
    CHECK_FALSE(ping.leads);
    CHECK_FALSE(ping.wants_record);
    stands.hear(2, {.term = 1, .number = ping.number, .attempt = 4, .version = newer.version}, lease_ms);
    CHECK(stands.role() == Role::candidate);
    CHECK(stands.ping(2, lease_ms).wants_record);
    stands.hear(2, {.term = 1, .number = lease_ms, .attempt = 4, .version = newer.version, .record = newer},
                lease_ms);
    CHECK(stands.role() == Role::coordinator);
    CHECK_FALSE(stands.may_act(lease_ms)); // a vote is no lease
    stands.hear(2, {.term = 1, .number = lease_ms, .leads = true, .attempt = 4, .version = newer.version},
                lease_ms + 10);
    CHECK(stands.may_act(lease_ms + 10));
    CHECK(stands.record().policy.members == std::vector<int>{1, 2});
    CHECK(stands.record().version == wire::JobRecord::Version{1, 8});
    CHECK(stands.latest_attempt() == 4);
    CHECK(stands.former() == 0);
    CHECK(stands.ping(2, lease_ms).record.has_value()); // which the others are told
}

TEST_CASE("a part with a coordinator votes for nobody else, and a lost one is told to stop") {
    Succession member(2, policy_of(4), 0, lease_ms, 0);
    auto policy = policy_of(4);
    policy.parts[1].lost = true;
    REQUIRE(member
                .hear(wire::LinkPing{.term = 0,
                                     .number = 1,
                                     .leads = true,
                                     .record = wire::JobRecord{.version = {0, 1}, .policy = policy}},
                      100)
                .has_value());
    CHECK(member.greet({.part = 3, .term = 2}, 200) == Succession::Answer::not_now);
    CHECK(member.greet({.part = 1, .term = 2}, 200) == Succession::Answer::lost);
    CHECK_FALSE(member.hear(wire::LinkPing{.term = 5, .number = 1, .leads = true}, 300).has_value());
    CHECK(member.term() == 0);
}

TEST_CASE("whose answer counts is reckoned from when the ping was sent, not from when the answer came") {
    Succession leads(0, policy_of(3), 0, lease_ms, 0);
    CHECK_FALSE(leads.may_act(0)); // nobody has answered yet
    leads.hear(1, {.term = 0, .number = 1000, .leads = true}, 1100);
    CHECK(leads.may_act(1000 + lease_ms - 1));
    leads.hear(1, {.term = 0, .number = 1000, .leads = true}, 1000 + lease_ms);
    CHECK_FALSE(leads.may_act(1000 + lease_ms));
    leads.tick(1000 + lease_ms);
    CHECK(leads.role() == Role::over);
}

TEST_CASE("a job that may not lose a node has no succession") {
    auto policy = policy_of(3);
    policy.relaunch.clear();
    Succession first(0, policy, 0, lease_ms, 0);
    Succession second(1, policy, 0, lease_ms, 0);
    CHECK(first.may_act(100 * lease_ms));
    second.tick(lease_ms);
    CHECK(second.role() == Role::over);
    CHECK_FALSE(second.is_searching());
}

TEST_CASE(
    "whatever is cut, frozen and lost: never two that decide, and one in the end where a majority lives") {
    for (unsigned seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto pick = [&](std::size_t below) { return random() % below; };
        const auto parts = 3 + pick(5);
        Cluster job(parts, seed);
        job.pass(lease_ms);
        std::size_t dead = 0;
        for (int fault = 0; fault < 12; ++fault) {
            const auto part = pick(parts);
            switch (pick(5)) {
            case 0:
                if (2 * (dead + 1) < parts) {
                    job.kill(part);
                    ++dead;
                }
                break;
            case 1:
                job.freeze(part, static_cast<std::int64_t>(pick(3 * lease_ms)));
                break;
            case 2:
                job.cut_off(part);
                break;
            case 3:
                job.cut(part, pick(parts));
                break;
            default:
                job.mend_all();
            }
            job.pass(static_cast<std::int64_t>(pick(2 * lease_ms)));
        }
        job.mend_all();
        job.pass(3 * settled_ms);
        CHECK(job.shared_terms == 0);
        // Whoever still takes part has the one coordinator.
        for (std::size_t i = 0; i < parts; ++i) {
            CHECK((!job.lives(i) || job.role(i) == Role::over || !job.of(i).is_searching()));
        }
    }
    for (unsigned seed = 0; seed < 200; ++seed) { // faults that leave a majority together
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto parts = 3 + random() % 5;
        Cluster job(parts, seed);
        job.pass(2 * lease_ms);
        for (std::size_t lost = 0; 2 * (lost + 1) < parts; ++lost) {
            const auto part = random() % 2 == 0 ? lost : random() % parts;
            random() % 2 == 0 ? job.kill(part) : job.cut_off(part);
            if (random() % 2 == 0) {
                job.pass(static_cast<std::int64_t>(random() % settled_ms));
            }
        }
        job.pass(2 * settled_ms);
        REQUIRE(job.deciders().size() == 1);
        CHECK(job.shared_terms == 0);
        CHECK(job.works(job.deciders().front()));
    }
}

} // namespace succession_test
