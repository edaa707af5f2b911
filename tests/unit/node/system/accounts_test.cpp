#include "node/system/accounts.hpp"

#include <doctest/doctest.h>

namespace accounts_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

const std::string passwd = "root:x:0:0:root:/root:/bin/bash\n"
                           "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
                           "broken line\n"
                           "bad:x:no:0::/:/bin/sh\n"
                           "alice:x:1000:1000:Alice,,,:/home/alice:/bin/zsh\n";
const std::string group =
    "root:x:0:\nvideo:x:44:bob,alice\nrender:x:105:alice\nalice:x:1000:\nusers:x:100:\n";

bool has_bash_and_sh(const std::string& path) {
    return path == "/bin/bash" || path == "/bin/sh";
}
bool has_nothing(const std::string&) {
    return false;
}

Account found(const std::string& user) {
    auto account = find_account(user, passwd, group);
    REQUIRE_MESSAGE(account.has_value(), user);
    return *account;
}

} // namespace

TEST_CASE("no user is root") {
    const auto account = found("");
    CHECK(account.name == "root");
    CHECK(account.uid == 0);
}

TEST_CASE("a name brings its groups") {
    const auto account = found("alice");
    CHECK(account.uid == 1000);
    CHECK(account.home == "/home/alice");
    CHECK(account.groups == std::vector<gid_t>{1000, 44, 105});
}

TEST_CASE("a uid is the user who has it") {
    CHECK(found("1000").name == "alice");
    CHECK(found("1000:1000").name == "alice");
}

TEST_CASE("another group gets an entry of its own, with that group's name or number") {
    for (const auto* user : {"alice:users", "1000:100", "alice:100"}) {
        CAPTURE(user);
        const auto account = found(user);
        CHECK(account.name == "dockdist-1000-100");
        CHECK(account.uid == 1000);
        CHECK(account.gid == 100);
        CHECK(account.home == "/home/alice");
    }
}

TEST_CASE("a uid that nobody has gets a name, group 0 and a home") {
    const auto account = found("4242");
    CHECK(account.name == "dockdist-4242");
    CHECK(account.uid == 4242);
    CHECK(account.gid == 0);
    CHECK(account.home == "/var/lib/dockdist/home/dockdist-4242");
}

TEST_CASE("unknown names are refused, and say whose fault it is") {
    CHECK(find_account("bob", passwd, group).error().message == "the image has no user \"bob\"");
    CHECK(find_account("alice:staff", passwd, group).error().message == "the image has no group \"staff\"");
    CHECK(find_account("x\n", passwd, group).error().message == "the image has no user \"x\\x0a\"");
}

TEST_CASE("an image without passwd still has root") {
    const auto account = find_account("", "", "");
    REQUIRE(account.has_value());
    CHECK(account->name == "root");
    CHECK(account->home == "/root");
}

TEST_CASE("a passwd that has everything stays as it is") {
    auto account = found("");
    const auto complete = passwd + "sshd:x:74:74::/run/sshd:/usr/sbin/nologin\n";
    CHECK(mend_passwd(complete, account, "/fallback", has_bash_and_sh) == complete);
    CHECK(account.shell == "/bin/bash");
}

TEST_CASE("sshd's user is added with an id that is free") {
    auto account = found("");
    const auto mended =
        mend_passwd(passwd + "x:x:105:105::/:/bin/sh\n", account, "/fallback", has_bash_and_sh);
    CHECK(mended.ends_with("sshd:x:106:65534::/run/sshd:/usr/sbin/nologin\n"));
}

TEST_CASE("a shell that the image lacks or that lets nobody in is replaced") {
    auto alice = found("alice");
    auto mended = mend_passwd(passwd, alice, "/fallback", has_bash_and_sh);
    CHECK(mended.find("alice:x:1000:1000:Alice,,,:/home/alice:/bin/bash\n") != std::string::npos);
    CHECK(alice.shell == "/bin/bash");

    auto daemon = found("daemon");
    mended = mend_passwd(passwd, daemon, "/fallback", [](const std::string&) { return true; });
    CHECK(mended.find("daemon:x:1:1:daemon:/usr/sbin:/bin/bash\n") != std::string::npos);
}

TEST_CASE("an image without any shell gets dockdist's own") {
    auto account = *find_account("", "", "");
    CHECK(mend_passwd("", account, "/fallback", has_nothing) ==
          "root:x:0:0:root:/root:/fallback\nsshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n");
}

TEST_CASE("a uid without an entry gets one") {
    auto account = found("4242:7");
    const auto mended = mend_passwd(passwd, account, "/fallback", has_bash_and_sh);
    CHECK(mended.ends_with("dockdist-4242-7:x:4242:7::/var/lib/dockdist/home/dockdist-4242-7:/bin/bash\n"));
}

TEST_CASE("a locked or expired account is opened for keys, others stay") {
    const std::string shadow =
        "root:!:19000:0:99999:7:::\nalice:$6$x:19000:0:99999:7:::\nbob:*:0:0:99999:7:::\n"
        "eve:!locked:19000::::::\n";
    CHECK(mend_shadow(shadow, "root").starts_with("root:*:::::::\nalice:$6$x:19000:0:99999:7:::\n"));
    CHECK(mend_shadow(shadow, "alice") == shadow);
    CHECK(mend_shadow(shadow, "bob").find("\nbob:*:::::::\n") != std::string::npos);
    CHECK(mend_shadow(shadow, "eve").ends_with("\neve:*:::::::\n"));
    CHECK(mend_shadow("", "root").empty());
}

TEST_CASE("a process's account is found by name among entries of one uid") {
    const auto two = passwd + "dockdist-1000-100:x:1000:100::/home/alice:/bin/sh\n";
    CHECK(account_of(1000, 100, "dockdist-1000-100", two, group).gid == 100);
    CHECK(account_of(1000, 1000, "", two, group).name == "alice");
    CHECK(account_of(77, 78, "", two, group).uid == 77);
}

} // namespace accounts_test
