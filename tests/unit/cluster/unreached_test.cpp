#include "client/cluster/unreached.hpp"

#include <doctest/doctest.h>

namespace unreached_test {

using namespace dockdist;

namespace {

std::vector<wire::NodeRecord> records(int count) {
    std::vector<wire::NodeRecord> all;
    for (int i = 0; i < count; ++i) {
        all.push_back({.node = "node-" + std::to_string(i),
                       .rank = i,
                       .address = "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1),
                       .ssh_port = 2222});
    }
    return all;
}

JoinFailure failure(int reporter, std::vector<int> peers, const std::string& cause = "Connection timed out") {
    const auto name = "node-" + std::to_string(reporter);
    JoinFailure one{
        .node = name,
        .error = {ErrorKind::unreachable, name + " on it", name + " cannot reach …", "open the port"}};
    for (const auto peer : peers) {
        one.unreached.push_back({.node = "node-" + std::to_string(peer), .cause = cause});
    }
    return one;
}

Errors fold(std::vector<JoinFailure> failures, int nodes) {
    std::vector<std::string> where;
    for (int i = 0; i < nodes; ++i) {
        where.push_back("node-" + std::to_string(i) + " on it");
    }
    return fold_unreached(std::move(failures), records(nodes), where);
}

} // namespace

TEST_CASE("in a cluster of four each node speaks for itself") {
    const auto errors = fold({failure(0, {3}), failure(1, {3})}, 4);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0] == failure(0, {3}).error);
}

TEST_CASE("a node that three cannot reach is named once, at its own place, with who cannot") {
    const auto errors = fold({failure(1, {3}), failure(2, {3, 9}), failure(35, {3})}, 64);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0] == Error{ErrorKind::unreachable, "node-3 on it",
                             "node-1, node-2, node-35 cannot reach it at 10.0.0.4:2222: Connection timed out",
                             "open the port"});
    CHECK(errors[1].where == "node-9 on it");
    CHECK(errors[1].message == "node-2 cannot reach it at 10.0.0.10:2222: Connection timed out");
}

TEST_CASE("many that cannot reach one are a count") {
    std::vector<JoinFailure> failures;
    for (int i = 4; i < 60; ++i) {
        failures.push_back(failure(i, {3}));
    }
    const auto errors = fold(failures, 64);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].message == "56 of 64 nodes cannot reach it at 10.0.0.4:2222: Connection timed out");
}

TEST_CASE("one that is cut off blames nobody else") {
    const auto errors = fold({failure(1, {3}), failure(2, {3}), failure(3, {4, 5, 35})}, 64);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].where == "node-3 on it");
    const auto each_other = fold({failure(3, {4}), failure(4, {3})}, 64);
    CHECK(each_other.size() == 2);
}

TEST_CASE("an error stays short, whatever nodes say") {
    std::vector<JoinFailure> failures;
    for (int i = 0; i < 1000; ++i) {
        failures.push_back(failure(i, {1023, 9999}, "cause " + std::to_string(i) + std::string(5000, 'x')));
    }
    const auto errors = fold(failures, 1024);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].message.starts_with("1000 of 1024 nodes cannot reach it at 10.0.4.24:2222: cause 0xxx"));
    CHECK(errors[0].message.size() < 250);
}

TEST_CASE("other failures stay beside these, and one that names nobody of the cluster is not lost") {
    auto other = failure(7, {});
    other.error.message = "no space left on device";
    CHECK(fold({other, failure(1, {3})}, 64).size() == 2);
    const auto errors = fold({failure(1, {9999})}, 64);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0] == failure(1, {}).error);
}

} // namespace unreached_test
