#include "client/report/error_text.hpp"
#include "client/report/fold_errors.hpp"
#include "client/report/json_reporter.hpp"
#include "client/report/plain_reporter.hpp"
#include "support.hpp"

namespace fold_errors_test {

using namespace dockdist;
using test::KeepingSink;

namespace {

std::string number(int i) {
    return std::to_string(i);
}

// As a host of that address and node of that name is told about.
Error of_host(int i, const std::string& message, ErrorKind kind = ErrorKind::unreachable) {
    const auto url = "tcp://10.0.0." + number(i) + ":2375";
    return {.kind = kind,
            .where = "node-" + number(i) + " (" + url + ")",
            .message = url + " " + message,
            .hint = "is Docker listening there? ssh://USER@10.0.0." + number(i) + " needs no such setting"};
}

std::string told(const Errors& errors) {
    std::string text;
    for (const auto& error : errors) {
        text += error_text(error, {});
    }
    return text;
}

} // namespace

TEST_CASE("errors that differ only in their host are one, with how many of how many") {
    Errors errors;
    for (int i = 0; i < 64; ++i) {
        if (i % 8 != 0) {
            errors.push_back(of_host(i, "refused the connection"));
        }
    }
    errors.insert(errors.begin() + 3,
                  {.kind = ErrorKind::timeout, .where = "node-8 (tcp://10.0.0.8:2375)", .message = "slow"});
    for (int i = 0; i < 64; ++i) {
        errors.push_back({ErrorKind::node,
                          "node-" + number(i) + " on h" + number(i) + " (ssh://ops@h" + number(i) + ")",
                          "the node is not up on h" + number(i), "run `dockdist up`"});
    }
    check_golden("report/folded.txt", told(fold_errors(errors, {.hosts = 64, .nodes = 64})));
}

TEST_CASE("three alike are three errors, four are one") {
    Errors errors;
    for (int i = 0; i < 3; ++i) {
        errors.push_back(of_host(i, "is full"));
    }
    CHECK(fold_errors(errors, {}) == errors);
    errors.push_back(of_host(3, "is full"));
    const auto folded = fold_errors(errors, {});
    REQUIRE(folded.size() == 1);
    CHECK(folded[0].where == "4 hosts");
    CHECK(folded[0].message == "is full (node-[0-3])");
    CHECK(folded[0].hint == "is Docker listening there? ssh://USER@… needs no such setting");
    CHECK(folded[0].kind == ErrorKind::unreachable);
    CHECK(fold_errors(errors, {.hosts = 4})[0].where == "all 4 hosts");
}

TEST_CASE("a name within another one is not the host's own") {
    Errors errors;
    for (int i = 1; i < 5; ++i) {
        errors.push_back(
            {ErrorKind::node, "node-" + number(i), "node-" + number(i) + " cannot reach node-10", ""});
    }
    CHECK(fold_errors(errors, {.hosts = 12})[0].message == "cannot reach node-10 (node-[1-4])");
}

TEST_CASE("ten thousand hosts, alike or each with its own trouble, are less than a screen") {
    Errors alike;
    Errors different;
    for (int i = 0; i < 10'000; ++i) {
        if (i % 3 != 0) {
            alike.push_back({ErrorKind::engine, "n" + number(i), "no space left", "free some"});
        }
        different.push_back({ErrorKind::engine, "n" + number(i), "trouble of kind " + number(i * 7), ""});
    }
    const auto folded = fold_errors(alike, {.hosts = 10'000});
    REQUIRE(folded.size() == 1);
    CHECK(folded[0].where == "6666 of 10000 hosts");
    CHECK(folded[0].message.size() < 160);
    CHECK(folded[0].message.ends_with(" more; -o json shows all)"));
    const auto screen = fold_errors(different, {.hosts = 10'000});
    REQUIRE(screen.size() == 21);
    CHECK(screen.back().message == "9980 more errors; -o json shows all");
}

TEST_CASE("of a message of more than a screen both ends are told, between characters") {
    std::string words = "first ";
    for (int i = 0; i < 1000; ++i) {
        words += "ä€";
    }
    auto folded = fold_errors({{ErrorKind::engine, "a", words + " last", ""}}, {});
    CHECK(folded[0].message.size() < 1700);
    CHECK(folded[0].message.starts_with("first ä€"));
    CHECK(folded[0].message.find("€ä … ") != std::string::npos);
    CHECK(folded[0].message.ends_with("€ last (-o json shows all)"));
    std::string lines;
    for (int i = 0; i < 100; ++i) {
        lines += "\nline " + number(i);
    }
    folded = fold_errors({{ErrorKind::node, "a", "the build failed:" + lines, ""}}, {});
    CHECK(std::ranges::count(folded[0].message, '\n') == 15);
    CHECK(folded[0].message.starts_with("the build failed: (-o json shows all)\n… 86 lines\nline 86\n"));
    CHECK(folded[0].message.ends_with("\nline 99"));
}

TEST_CASE("a traceback keeps its exception") {
    std::string tail = "its last lines:\nTraceback (most recent call last):\n";
    for (int i = 0; i < 30; ++i) {
        tail +=
            "  File \"/usr/lib/python3/dist-packages/torch/nn/modules/module.py\", line 1750, in _call_impl\n"
            "    return forward_call(*args, **kwargs)\n";
    }
    const auto folded = fold_errors({{ErrorKind::job, "node-1", "rank 3 exited with 1",
                                      tail + "RuntimeError: shapes cannot be multiplied"}},
                                    {});
    CHECK(folded[0].hint.ends_with("\nRuntimeError: shapes cannot be multiplied"));
}

TEST_CASE("mistakes in a file are all told") {
    Errors errors;
    for (int i = 0; i < 50; ++i) {
        errors.push_back(
            {ErrorKind::config, "cluster.yaml:" + number(i) + ":3", "unknown key `x`", "known here: …"});
    }
    CHECK(fold_errors(errors, {}) == errors);
}

TEST_CASE("people get folded errors and warnings, programs each of them") {
    Errors errors;
    for (int i = 0; i < 9; ++i) {
        errors.push_back(of_host(i, "is old"));
    }
    KeepingSink sink;
    PlainReporter plain({}, sink);
    tell_errors(plain, errors, {.hosts = 9});
    tell_warnings(plain, errors, {.hosts = 9});
    CHECK(sink.written[2] == "error: all 9 hosts: is old (node-[0-8])\n"
                             "  -> is Docker listening there? ssh://USER@… needs no such setting\n"
                             "warning: all 9 hosts: is old (node-[0-8]) (is Docker listening there? "
                             "ssh://USER@… needs no such setting)\n");
    KeepingSink of_json;
    JsonReporter json({.fd = 1}, of_json);
    tell_errors(json, errors, {.hosts = 9});
    CHECK(std::ranges::count(of_json.written[2], '\n') == 9);
}

} // namespace fold_errors_test
