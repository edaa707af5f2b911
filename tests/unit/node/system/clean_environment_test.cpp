#include "node/system/clean_environment.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

namespace clean_environment_test {

using namespace dockdist::node;

namespace {

std::vector<std::string> names_in(const Environment& environment) {
    std::vector<std::string> names;
    for (const auto& entry : environment.entries()) {
        names.push_back(entry.substr(0, entry.find('=')));
    }
    std::ranges::sort(names);
    return names;
}

// A container whose file and image lead programs into a folder of an account's by every name there is.
struct Led : Scratch {
    Led() {
        REQUIRE(::chmod(path.c_str(), 0755) == 0);
        REQUIRE(::mkdir((*this / "lib").c_str(), 0755) == 0);
        REQUIRE(::mkdir((*this / "own").c_str(), 0755) == 0);
        REQUIRE((::geteuid() != 0 || ::chown((*this / "own").c_str(), 4242, 4242) == 0));
        for (const auto* name :
             {"LD_PRELOAD",   "LD_AUDIT",          "PYTHONPATH",      "PYTHONSTARTUP", "PYTHONHOME",
              "PERL5LIB",     "PERL5OPT",          "RUBYOPT",         "BASH_ENV",      "ENV",
              "GCONV_PATH",   "LOCPATH",           "NLSPATH",         "OPENSSL_CONF",  "GLIBC_TUNABLES",
              "MALLOC_TRACE", "XDG_CONFIG_HOME",   "GIT_SSH_COMMAND", "NODE_OPTIONS",  "VIRTUAL_ENV",
              "HOSTALIASES",  "JAVA_TOOL_OPTIONS", "LESSOPEN",        "EDITOR",        "HOME",
              "SHELL"}) {
            environment.set(name, *this / "own");
        }
        environment.set("PATH", (*this / "own") + ":" + (*this / "lib") + ":/bin");
        environment.set("LD_LIBRARY_PATH", (*this / "own") + ":" + (*this / "lib"));
        environment.set("DATA", *this / "own");
        environment.set("DATASET_PATH", *this / "own");
        environment.set("SRC", "/workspace");
        environment.set("HTTPS_PROXY", "http://proxy.example.org:3128");
        environment.set("PIP_INDEX_URL", "https://pypi.example.org/simple");
        environment.set("LANG", "de_DE.UTF-8");
    }
    Environment environment{};
};

} // namespace

TEST_CASE("what leads programs is known by its name, and what a line may mean by it is not") {
    for (const auto* name :
         {"LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "ENV", "BASH_FUNC_ls%%", "DYLD_LIBRARY_PATH"}) {
        CHECK(leads_programs(name));
    }
    for (const auto* name :
         {"PATH", "HOME", "DATA_PATH", "MODEL_PATH", "SRC", "NODE_RANK", "RANK", "MY_CONFIG", "SSL_CERT_FILE",
          "PIP_INDEX_URL", "HTTP_PROXY", "LANG", "TERM", "DEBIAN_FRONTEND", ""}) {
        CHECK_FALSE(leads_programs(name));
    }
}

TEST_SUITE("as root" * doctest::skip(::geteuid() != 0)) {
    TEST_CASE("a program that is believed has nothing of the container's but where the driver is") {
        const Led led;
        const auto environment = believed_environment(led.environment);
        CHECK(names_in(environment) == std::vector<std::string>{"HOME", "LC_ALL", "LD_LIBRARY_PATH", "PATH"});
        CHECK(environment.get("LD_LIBRARY_PATH") == led / "lib");
        CHECK(environment.get("HOME") == "/");
        const auto path = environment.get("PATH").value_or("");
        CHECK(path.starts_with((led / "lib") + ":/bin:"));
        CHECK(path.find("own") == std::string::npos);
        CHECK(names_in(believed_environment({})) == std::vector<std::string>{"HOME", "LC_ALL", "PATH"});
    }

    TEST_CASE("root's own line has what the file sets, and nothing that leads it to others") {
        const Led led;
        auto environment = led.environment;
        keep_to_root(environment, "/root");
        CHECK(names_in(environment) == std::vector<std::string>{"DATA", "DATASET_PATH", "HOME", "HTTPS_PROXY",
                                                                "LANG", "PATH", "PIP_INDEX_URL", "SRC"});
        CHECK(environment.get("HOME") == "/root");
        CHECK(environment.get("PATH").value_or("").starts_with("/opt/dockdist/bin:" + (led / "lib") +
                                                               ":/bin:"));
        CHECK(environment.get("PATH").value_or("").find("own") == std::string::npos);
    }
}

} // namespace clean_environment_test
