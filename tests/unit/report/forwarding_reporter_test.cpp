#include "client/cli/files/late_reporter.hpp"
#include "client/cluster/slowest_step.hpp"
#include "client/report/fold_errors.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

namespace forwarding_reporter_test {

using namespace dockdist;

namespace {

// Answers what no default answers, and remembers what it was told.
class Told : public Reporter {
public:
    void on(const Event& event) override { calls.push_back("on " + event.text); }
    void error(const Error& error) override { calls.push_back("error " + error.message); }
    bool folds() const override { return false; }
    bool moves() const override { return true; }
    void tick() override { calls.emplace_back("tick"); }
    void finish() override { calls.emplace_back("finish"); }

    std::vector<std::string> calls{};
};

// The names of the functions that the class declares with the word.
std::set<std::string> functions(const std::string& text, const std::string& name, const std::string& word) {
    const auto begin = text.find("\nclass " + name);
    REQUIRE(begin != std::string::npos);
    const auto body = text.substr(begin, text.find("\n};", begin) - begin);
    std::set<std::string> names;
    std::istringstream lines(body);
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_search(line, std::regex("\\b" + word + "\\b")) &&
            std::regex_search(line, found, std::regex(R"((~?\w+)\()"))) {
            names.insert(found[1]);
        }
    }
    return names;
}

} // namespace

TEST_CASE("the base of what changes events on their way passes everything on") {
    Told told;
    ForwardingReporter between(told);
    Reporter& reporter = between;
    reporter.on({.text = "x"});
    reporter.error({.message = "y"});
    reporter.tick();
    reporter.finish();
    CHECK(told.calls == std::vector<std::string>{"on x", "error y", "tick", "finish"});
    CHECK_FALSE(reporter.folds());
    CHECK(reporter.moves());
}

TEST_CASE("no virtual function of a reporter is left out there") {
    std::ifstream file(DOCKDIST_SOURCE_DIR "/src/client/report/event.hpp");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    auto declared = functions(text, "Reporter {", "virtual");
    CHECK(declared.contains("folds"));
    declared.erase("~Reporter");
    CHECK(functions(text, "ForwardingReporter ", "override") == declared);
}

TEST_CASE("programs have each error by itself, whatever stands before their reporter") {
    const Errors errors(4, Error{.message = "is full"});
    Told told;
    SlowestStep slowest(told);
    LateReporter late(told);
    for (Reporter* reporter : {static_cast<Reporter*>(&slowest), static_cast<Reporter*>(&late)}) {
        told.calls.clear();
        tell_errors(*reporter, errors, {});
        CHECK(told.calls.size() == 4);
    }
}

} // namespace forwarding_reporter_test
