#include "shared/job_state/job_end.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace job_end_test {

using namespace dockdist;

namespace {

constexpr const char* silence = "nothing was heard of node-1 for 30 s";
constexpr const char* missing =
    "the launcher ended with 0, and has started 1 of 2 ranks: its own lines say why";

NodeOutcome node(const char* name, wire::JobResult result) {
    return {.node = NodeName(name), .result = std::move(result)};
}

wire::JobResult failed(int rank, int code, int signal = 0) {
    wire::JobResult result{.code = code, .signal = signal};
    result.failures.push_back(
        {.rank = rank, .code = code, .signal = signal, .tail = "Traceback\n\nbad \x1b\n"});
    return result;
}

wire::JobResult told(const char* reason, int code = 143) {
    return {.code = code, .signal = code > 128 ? code - 128 : 0, .stopped = true, .reason = reason};
}

wire::JobResult lost() {
    auto result = failed(-1, 137, 9);
    result.reason = "lost";
    return result;
}

wire::JobPolicy two_nodes() {
    return {.parts = {{.node = "node-0"}, {.node = "node-1"}}, .stall_ms = 600000, .stop_stalled = true};
}

wire::JobPolicy that_goes_on() {
    auto policy = two_nodes();
    policy.max_restarts = 1;
    policy.members = {0, 1};
    policy.relaunch = "{}";
    return policy;
}

Result<std::vector<wire::JobStart>> same_starts(const wire::JobPolicy& policy) {
    return std::vector<wire::JobStart>(policy.parts.size(), {.policy = policy});
}

// A job of two nodes as it happened: what whoever decided for it heard, and what is on record at the end.
struct Story {
    const char* name;
    std::function<void(JobStateMachine&)> happened;
    wire::JobResult first{};
    std::optional<wire::JobResult> second{wire::JobResult{}}; // empty: node-1 was lost
    JobState state = JobState::done;
    int code = 0;
    const char* reason = "";
    std::string failure{}; // "NODE: WHAT"
    wire::JobPolicy policy = two_nodes();
    JobStateMachine::Relaunch relaunch = same_starts;
};

void both_exit(JobStateMachine& job, const wire::JobResult& first, const wire::JobResult& second) {
    job.decide(0);
    job.exited(1, second);
    job.decide(1);
    job.exited(0, first);
    job.decide(2);
}

void leave_node_1_out(JobStateMachine& job) {
    job.lost(1, silence, {}, wire::JobFailure{.code = 125, .finding = silence});
    job.decide(0);
    job.ended(0, 0, told("stop"));
    job.decide(0);
    job.decide(1000);
}

wire::JobPolicy with_support() {
    auto policy = two_nodes();
    policy.parts[0].ranks = policy.parts[1].ranks = 1;
    policy.parts[1].hosts_remote_ranks = true;
    return policy;
}

std::vector<Story> stories() {
    std::vector<Story> all;
    all.push_back({.name = "done", .happened = [](JobStateMachine& job) { both_exit(job, {}, {}); }});
    all.push_back({.name = "a rank failed",
                   .happened =
                       [](JobStateMachine& job) {
                           job.rank_failed(1, 0, {.rank = 3, .code = 7});
                           both_exit(job, told("stop"), failed(3, 7));
                       },
                   .first = told("stop"),
                   .second = failed(3, 7),
                   .state = JobState::failed,
                   .code = 7,
                   .failure = "node-1: rank 3 exited with 7"});
    all.push_back({.name = "a signal",
                   .happened =
                       [](JobStateMachine& job) {
                           job.rank_failed(1, 0, {.rank = 3, .code = 139, .signal = 11});
                           both_exit(job, told("stop"), failed(3, 139, 11));
                       },
                   .first = told("stop"),
                   .second = failed(3, 139, 11),
                   .state = JobState::failed,
                   .code = 139,
                   .failure = "node-1: rank 3 was ended by signal 11 (Segmentation fault)"});
    all.push_back({.name = "no such program",
                   .happened =
                       [](JobStateMachine& job) {
                           job.rank_failed(0, 0, {.code = 127});
                           both_exit(job, failed(-1, 127), told("stop"));
                       },
                   .first = failed(-1, 127),
                   .second = told("stop"),
                   .state = JobState::failed,
                   .code = 127,
                   .failure = "node-0: the command exited with 127"});
    for (const auto& [reason, code] : {std::pair("stop", 143), {"lease", 143}, {"timeout", 124}}) {
        all.push_back(
            {.name = reason,
             .happened = [why = std::string(reason)](
                             JobStateMachine& job) { both_exit(job, told(why.c_str()), told(why.c_str())); },
             .first = told(reason),
             .second = told(reason),
             .state = JobState::stopped,
             .code = code,
             .reason = reason});
    }
    all.push_back({.name = "a stall",
                   .happened =
                       [](JobStateMachine& job) {
                           job.silent(0, 0);
                           job.silent(1, 0);
                           job.decide(0);
                           job.reported(0, 0);
                           job.reported(1, 0);
                           both_exit(job, told("stop"), told("stop"));
                       },
                   .first = told("stop"),
                   .second = told("stop"),
                   .state = JobState::failed,
                   .code = 124,
                   .failure = "node-0: no rank wrote anything for 10 min"});
    all.push_back({.name = "missing ranks",
                   .happened =
                       [](JobStateMachine& job) {
                           job.ended(0, 0, {.ranks = 1});
                           both_exit(job, {.ranks = 1}, told("over"));
                       },
                   .first = {.ranks = 1},
                   .second = told("over"),
                   .state = JobState::failed,
                   .code = 125,
                   .failure = std::string("node-0: ") + missing,
                   .policy = with_support()});
    all.push_back({.name = "only support was told to end",
                   .happened =
                       [](JobStateMachine& job) {
                           job.ended(0, 0, {.ranks = 2});
                           both_exit(job, {.ranks = 2}, told("over"));
                       },
                   .first = {.ranks = 2},
                   .second = told("over"),
                   .policy = with_support()});
    all.push_back({.name = "a node was left out",
                   .happened =
                       [](JobStateMachine& job) {
                           leave_node_1_out(job);
                           job.ended(0, 1, {.attempt = 1});
                           job.decide(1001);
                           job.exited(0, {.attempt = 1});
                       },
                   .first = {.attempt = 1, .left_out = {"node-1"}},
                   .second = told("lease"),
                   .policy = that_goes_on()});
    all.push_back({.name = "a launch that cannot be made",
                   .happened =
                       [](JobStateMachine& job) {
                           leave_node_1_out(job);
                           job.exited(0, told("stop"));
                       },
                   .first = told("stop"),
                   .second = std::nullopt,
                   .state = JobState::failed,
                   .code = 125,
                   .failure = "node-0: no port",
                   .policy = that_goes_on(),
                   .relaunch = [](const wire::JobPolicy&) -> Result<std::vector<wire::JobStart>> {
                       return Error{.message = "no port"};
                   }});
    all.push_back({.name = "a supervisor was killed",
                   .happened = [](JobStateMachine& job) { both_exit(job, told("stop"), lost()); },
                   .first = told("stop"),
                   .second = lost(),
                   .state = JobState::lost,
                   .code = 137,
                   .failure = "node-1: the command was ended by signal 9 (Killed)"});
    all.push_back({.name = "a node was lost",
                   .happened =
                       [](JobStateMachine& job) {
                           job.lost(1, silence, {}, wire::JobFailure{.code = 125, .finding = silence});
                           job.decide(0);
                           job.exited(0, told("stop"));
                       },
                   .first = told("stop"),
                   .second = std::nullopt,
                   .state = JobState::failed,
                   .code = 125,
                   .failure = std::string("node-1: ") + silence});
    return all;
}

std::vector<NodeOutcome> record_of(const Story& story) {
    std::vector<NodeOutcome> nodes{node("node-0", story.first), {.node = NodeName("node-1")}};
    nodes[1].result = story.second;
    return nodes;
}

void check(const Story& story, const JobOutcome& outcome) {
    CHECK(state_of(outcome) == story.state);
    CHECK(outcome.exit_code() == story.code);
    CHECK(outcome.stop_reason == story.reason);
    const auto errors = end_errors(outcome, JobId("job-1"));
    CHECK(errors.empty() == outcome.ended_well());
    REQUIRE(outcome.first_failure.has_value() != story.failure.empty());
    if (outcome.first_failure) {
        REQUIRE(errors.size() == 1);
        CHECK(errors[0].where + ": job-1: " + story.failure.substr(story.failure.find(' ') + 1) ==
              story.failure.substr(0, story.failure.find(' ')) + " " + errors[0].message);
    }
}

JobStateMachine decided(const Story& story) {
    JobStateMachine job(story.policy, story.relaunch);
    story.happened(job);
    return job;
}

const char* const lost_words = "the node's container is gone";

} // namespace

TEST_CASE("the client that decided for a job tells its end") {
    for (const auto& story : stories()) {
        CAPTURE(story.name);
        check(story, outcome_of(record_of(story), {}, decided(story), false));
    }
}

TEST_CASE("what the coordinator of a detached job keeps on record tells whoever comes later the same") {
    for (const auto& story : stories()) {
        CAPTURE(story.name);
        auto nodes = record_of(story);
        const auto first = final_failure(decided(story));
        for (auto& each : nodes) {
            if (each.result && each.result->reason != "lost") { // that one can keep nothing any more
                each.result->first = first;
            }
        }
        check(story, outcome_of(nodes, {}));
    }
}

TEST_CASE("a client that loses a node tells that itself, with 125") {
    JobStateMachine job(two_nodes());
    job.lost(1, lost_words, std::nullopt);
    job.decide(0);
    job.exited(0, told("stop"));
    const Errors errors{{ErrorKind::unreachable, "node-1", lost_words, ""}};
    const auto outcome =
        outcome_of({node("node-0", told("stop")), {.node = NodeName("node-1")}}, errors, job, false);
    CHECK(outcome.exit_code() == 125);
    CHECK(outcome.stop_reason.empty()); // it was this client that stopped the others
    CHECK_FALSE(outcome.first_failure.has_value());
    CHECK(end_errors(outcome, JobId("job-1")) == errors);
}

TEST_CASE("a failure, or a time that was over, keeps its code beside errors of dockdist itself") {
    const Errors errors{{ErrorKind::unreachable, "node-2", "no answer", ""}};
    const auto bad = outcome_of({node("node-0", failed(3, 7))}, errors);
    CHECK(bad.exit_code() == 7);
    CHECK(end_errors(bad, JobId("job-1")).size() == 2);
    CHECK(outcome_of({node("node-0", told("timeout"))}, errors).exit_code() == 124);
    CHECK(outcome_of({node("node-0", {})}, errors).exit_code() == 125);
}

TEST_CASE("after Ctrl-C the code is 130, and what the nodes did over it is no failure") {
    JobStateMachine job(two_nodes());
    job.interrupted();
    job.decide(0);
    job.exited(0, told("stop"));
    job.exited(1, {.code = 1});
    auto outcome = outcome_of({node("node-0", told("stop")), node("node-1", {.code = 1})}, {}, job, false);
    CHECK(outcome.interrupted);
    CHECK(outcome.exit_code() == 130);
    CHECK(outcome.ended_well());
    outcome.collected = false;
    CHECK(outcome.exit_code() == 130);

    JobStateMachine failing(two_nodes());
    failing.rank_failed(1, 0, {.rank = 3, .code = 7});
    failing.decide(0);
    failing.interrupted();
    const auto late =
        outcome_of({node("node-0", told("stop")), node("node-1", failed(3, 7))}, {}, failing, false);
    CHECK(late.exit_code() == 130);
    CHECK(late.first_failure->rank == 3); // before the interrupt
}

TEST_CASE("a job that was left to the cluster is no failure of the client's, whatever is missing yet") {
    auto policy = two_nodes();
    policy.parts[0].ranks = 2;
    const JobStateMachine job(policy);
    auto outcome = outcome_of({{.node = NodeName("node-0")}, {.node = NodeName("node-1")}}, {}, job, true);
    CHECK(outcome.detached);
    CHECK(outcome.exit_code() == 0);
    CHECK(end_errors(outcome, JobId("job-1")).empty());
    outcome.errors.push_back({ErrorKind::unreachable, "node-1", "no answer", ""});
    CHECK(outcome.exit_code() == 125);
    CHECK(end_errors(outcome, JobId("job-1")) == outcome.errors);
}

TEST_CASE("results that could not be fetched count where the job went well") {
    auto outcome = outcome_of({node("node-0", {})}, {});
    CHECK(outcome.exit_code() == 0);
    outcome.collected = false;
    CHECK(outcome.exit_code() == 125);
    auto bad = outcome_of({node("node-0", failed(3, 7))}, {});
    bad.collected = false;
    CHECK(bad.exit_code() == 7);
}

TEST_CASE("a failure is told with its last lines, and a stop with what to do") {
    const JobId job("job-1");
    const auto bad = end_errors(outcome_of({node("node-1", failed(3, 7))}, {}), job);
    REQUIRE(bad.size() == 1);
    CHECK(to_text(bad[0]) == "node-1: job-1: rank 3 exited with 7\n  its last lines:\nTraceback\nbad");
    auto known = failed(3, 2);
    known.failures.front() = {.rank = 3, .code = 2, .tail = "t", .cause = "no t.py", .advice = "bring it"};
    CHECK(to_text(end_errors(outcome_of({node("node-1", known)}, {}), job)[0]) ==
          "node-1: job-1: rank 3 exited with 2: no t.py\n  bring it\nits last lines:\nt");
    const auto unheld = end_errors(outcome_of({node("node-1", told("lease"))}, {}), job);
    CHECK(unheld[0].message == "job-1: it was stopped because no client held its lease any more");
    CHECK_FALSE(unheld[0].hint.empty());
    CHECK(end_errors(outcome_of({node("node-1", told("timeout"))}, {}), job)[0].message ==
          "job-1: timed out (--timeout, or the allocation's time limit) and was stopped");
    CHECK(end_errors(outcome_of({node("node-1", told("stop"))}, {}), job)[0].message ==
          "job-1: it was stopped");
}

TEST_CASE("what a node did because it was told to end is no failure") {
    const auto outcome = outcome_of({node("node-0", told("stop")), node("node-1", failed(3, 7))}, {});
    REQUIRE(outcome.first_failure.has_value());
    CHECK(outcome.first_failure->node == "node-1");
    CHECK(outcome.first_failure->code == 7);
    CHECK_FALSE(outcome_of({node("node-0", told("stop")), node("node-1", {})}, {}).first_failure.has_value());
}

TEST_CASE("a rank's failure explains its launcher's, on whichever node it was") {
    const auto first = [](std::vector<NodeOutcome> nodes) {
        return outcome_of(std::move(nodes), {}).first_failure;
    };
    CHECK(first({node("node-0", failed(-1, 1)), node("node-1", failed(3, 7))})->rank == 3);
    CHECK(first({node("node-0", failed(-1, 1)), node("node-1", failed(3, 143, 15))})->rank ==
          -1); // the launcher's end killed it
}

TEST_CASE("the first failure that the cluster holds counts before what can be guessed") {
    auto result = failed(0, 1);
    result.first = {.node = "node-1", .rank = 3, .code = 7};
    const auto outcome = outcome_of({node("node-0", failed(5, 9)), node("node-1", result)}, {});
    CHECK(outcome.first_failure->node == "node-1");
    CHECK(outcome.exit_code() == 7);
}

TEST_CASE("a job of which some nodes were told to end") {
    const auto of = [](wire::JobResult second) {
        return outcome_of({node("a", {}), node("b", std::move(second))}, {});
    };
    CHECK(of(told("stop", 0)).stop_reason.empty()); // b only hosted ranks for a's launcher
    CHECK(of(told("stop", 0)).exit_code() == 0);
    CHECK(of(told("stop")).stop_reason == "stop");
    CHECK(of(told("stop")).exit_code() == 143);
    const auto all = outcome_of({node("a", told("stop", 0)), node("b", told("stop", 0))}, {});
    CHECK(all.stop_reason == "stop");
    CHECK(all.exit_code() == 0);
    CHECK(outcome_of({node("a", told("lease")), node("b", told("stop"))}, {}).stop_reason == "lease");
    CHECK(outcome_of({node("a", told("timeout")), node("b", told("stop"))}, {}).exit_code() == 124);
}

} // namespace job_end_test
