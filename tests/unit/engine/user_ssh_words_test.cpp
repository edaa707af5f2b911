// What the user's own ssh is told and says, and where its sockets lie.
#include "client/engine/transport/ssh/private_folder.hpp"
#include "client/engine/transport/ssh/user_ssh_words.hpp"
#include "fakes/tls_front.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace user_ssh_words_test {

using namespace dockdist;

namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("what ssh says is told by the line that says most") {
    SshSettings settings{.alias = "gpu-1", .user = "ops"};
    const auto told = [&](const char* complaints) {
        return user_ssh_error("gpu-1", settings, complaints, "of X").message;
    };
    CHECK(told("Welcome!\r\nops@gpu-1: Permission denied (publickey).\r\n") ==
          "your own ssh does not reach gpu-1: ops@gpu-1: Permission denied (publickey). (dockdist "
          "uses it, since of X)");
    CHECK(contains(told("Unable to negotiate with 10.0.0.1 port 22: no matching MAC found.\nbye\n"),
                   "no matching MAC"));
    CHECK(contains(told("@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@\nHost key "
                        "verification failed.\n"),
                   "gpu-1: WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! (dockdist"));
    CHECK(contains(told(""), "does not reach gpu-1 (dockdist"));
    CHECK(contains(told("\x1b[2J one\n\n"), "\\x1b[2J one"));
    const auto limits = [&](bool asks) {
        return fmt::format("{}",
                           fmt::join(user_ssh_command({}, settings, "c", asks, std::chrono::seconds(5)), " "))
            .find("ConnectTimeout=5");
    };
    CHECK(limits(true) != std::string::npos);
    settings.proxy = {"ssh", "jump"}; // which may ask a person
    CHECK(limits(false) != std::string::npos);
    CHECK(limits(true) == std::string::npos);
    CHECK(forward_command("c", "h", "/a:b").empty());
    CHECK(forward_command("c", "h", "relative").empty());
    CHECK(forward_command("c", "h", "/run/my docker.sock").size() > 5);
    CHECK(remote_command("/a%h/c", "run")[4] == "/a%%h/c");
    CHECK(is_turned_away("kex_exchange_identification: Connection closed by remote host\r\n"));
    CHECK_FALSE(is_turned_away("Connection closed by 10.0.0.1 port 22\r\n")); // after a login that failed
}

TEST_CASE(
    "the folder of sockets is the user's alone, and the next one takes away what a killed client has left") {
    const TemporaryFolder place;
    ::setenv("XDG_RUNTIME_DIR", std::filesystem::path(place.file("x")).parent_path().c_str(), 1);
    std::string left;
    {
        auto first = PrivateFolder::make().value();
        CHECK(std::filesystem::status(first.path()).permissions() == std::filesystem::perms::owner_all);
        const auto second = PrivateFolder::make().value();
        CHECK(std::filesystem::exists(first.path())); // it is in use
        left = first.path() + "x";
        std::filesystem::copy(first.path(), left); // with its lock, which nobody holds
        const auto third = PrivateFolder::make().value();
        CHECK_FALSE(std::filesystem::exists(left));
        CHECK(std::filesystem::exists(second.path()));
    }
    CHECK(std::distance(std::filesystem::directory_iterator(place.file("")), {}) == 0);
    const auto is_taken = [&](const std::string& folder, std::filesystem::perms mode) {
        std::filesystem::create_directory(folder);
        std::filesystem::permissions(folder, mode);
        ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
        return PrivateFolder::make().value().path().starts_with(folder);
    };
    CHECK(is_taken(place.file("mine"), std::filesystem::perms::owner_all));
    CHECK_FALSE(is_taken(place.file("everybody's"), std::filesystem::perms::all));
    CHECK_FALSE(
        is_taken(place.file("a%h"), std::filesystem::perms::owner_all)); // ssh would read it otherwise
    ::unsetenv("XDG_RUNTIME_DIR");
}

} // namespace user_ssh_words_test
