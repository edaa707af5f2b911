// As whom helpers run, and what they have.
#include "node/system/helper.hpp"
#include "shared/wire/layout.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace helper_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

constexpr int limit_ms = 20000;

// An environment variable of this process, for as long as this lives.
class Variable {
public:
    Variable(const char* name, const std::string& value)
        : name_(name), before_(Environment::own().get(name)) {
        ::setenv(name, value.c_str(), 1);
    }
    ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> before_;
};

struct Tools : Scratch {
    Tools() {
        REQUIRE(::chmod(path.c_str(), 0755) == 0);
        for (const auto* name : {"own", "roots"}) {
            REQUIRE(::mkdir((*this / name).c_str(), 0755) == 0);
            program(name, "#!/bin/sh\necho \"" + std::string(name) + " $(id -u) $(id -G) $(pwd)\"; env\n");
        }
        REQUIRE(::chown((*this / "own").c_str(), 4242, 4242) == 0);
    }
    void program(const std::string& folder, const std::string& text) const {
        const auto file = path + "/" + folder + "/told";
        std::ofstream(file) << text;
        REQUIRE(::chmod(file.c_str(), 0755) == 0);
    }
};

} // namespace

TEST_SUITE("as root" * doctest::skip(::geteuid() != 0)) {
    TEST_CASE(
        "who is believed is found where root alone writes, and is nobody who could be led or could lead") {
        const Tools tools;
        const Variable path("PATH", (tools / "own") + ":" + (tools / "roots") + ":/usr/bin:/bin");
        const Variable preload("LD_PRELOAD_OF_A_TEST", "1");
        const auto helper = believed_helper({"told"});
        REQUIRE(helper.has_value());
        const auto told = run_helper(*helper, limit_ms).output;
        const auto id = std::to_string(layout::id_apart);
        CHECK(told.starts_with("roots " + id + " " + id + " /\n"));
        CHECK(told.find("OF_A_TEST") == std::string::npos);
        CHECK(told.find(tools / "own") == std::string::npos);
    }

    TEST_CASE("one that is not there, or is others', is not found, and it is said why") {
        const Tools tools;
        const Variable path("PATH", tools / "own");
        const auto helper = believed_helper({"told"});
        REQUIRE_FALSE(helper.has_value());
        CHECK(helper.error().kind == ErrorKind::not_found);
        CHECK(believed_helper({"no-such-program"}).error().kind == ErrorKind::not_found);
    }

    TEST_CASE("it runs as root where nobody else may run it") {
        const Tools tools;
        const Variable path("PATH", tools / "roots");
        REQUIRE(::chmod((tools / "roots").c_str(), 0700) == 0);
        const auto helper = believed_helper({"told"});
        REQUIRE(helper.has_value());
        CHECK(run_helper(*helper, limit_ms).output.starts_with("roots 0 "));
    }

    TEST_CASE("a helper of an account's is that account before it starts") {
        const Account account{.name = "ada", .uid = 4242, .gid = 77, .home = "/home/ada"};
        Helper helper{.program = {.path = "/bin/sh"},
                      .argv = {"sh", "-c", "id -u; id -g; id -G"},
                      .environment = clean_environment(),
                      .account = account};
        CHECK(run_helper(helper, limit_ms).output == "4242\n77\n77\n");
        CHECK(toolkit_helper("/bin/sh", {"sh"}, account).environment.get("HOME") == "/home/ada");
    }

    TEST_CASE("root itself becomes no program that others can change, and passes on nothing that leads") {
        const Tools tools;
        Environment environment;
        environment.set("PATH", "/usr/bin:/bin");
        environment.set("LD_LIBRARY_PATH", tools / "own");
        environment.set("DATA", "kept");
        const auto theirs = run_helper(
            {.program = {.path = tools / "own/told"}, .argv = {"told"}, .environment = environment},
            limit_ms);
        CHECK(theirs.code == 126);
        CHECK(theirs.output.empty());
        const auto roots = run_helper(
            {.program = {.path = tools / "roots/told"}, .argv = {"told"}, .environment = environment},
            limit_ms);
        CHECK(roots.output.find("DATA=kept\n") != std::string::npos);
        CHECK(roots.output.find("LD_LIBRARY_PATH") == std::string::npos);
    }
}

} // namespace helper_test
