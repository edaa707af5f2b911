#include "client/cli/nodes/login_end.hpp"
#include "shared/wire/layout.hpp"

#include <doctest/doctest.h>

namespace login_end_test {

using namespace dockdist;

namespace {

std::string told(const LoginEnd& end, int code, bool ssh_has_left = false) {
    const auto error = end.error("node-0", code, ssh_has_left);
    return error ? error->message : "";
}

} // namespace

TEST_CASE("sshd's last word is what ended it") {
    LoginEnd end;
    end.take(StdStream::err, "Unable to load host key: /a\r\nsshd: no hostkeys ");
    end.take(StdStream::err, "available -- exiting.\r\n\r\n");
    CHECK(told(end, 1) == "sshd: no hostkeys available -- exiting.");
    CHECK(end.error("node-0", 1, false)->hint ==
          "`dockdist check` looks at the node; `dockdist up` recreates it");
    CHECK(told(end, 0).empty());
    CHECK(told(end, 255, true).empty()); // ssh has its own words
    CHECK(told(LoginEnd(), 255) == "its sshd ended with code 255, without a message");
}

TEST_CASE("of much that it says the last is told, and little is kept") {
    LoginEnd end;
    for (int i = 0; i < 10'000; ++i) {
        end.take(StdStream::err, "one more line\n");
    }
    end.take(StdStream::err, "the last\n");
    CHECK(told(end, 1) == "the last");
    LoginEnd endless;
    endless.take(StdStream::err, std::string(100'000, 'a'));
    CHECK(told(endless, 1) == std::string(4096, 'a'));
}

TEST_CASE("an engine that cannot start it says so on stdout") {
    const std::string refusal = "OCI runtime exec failed: no such file or directory: unknown";
    for (const int code : {126, 127}) {
        LoginEnd end;
        end.take(StdStream::out, refusal + "\r\nand more\r\n");
        end.take(StdStream::err, "a last line\n");
        CHECK(told(end, code) == refusal);
        CHECK(told(end, 255) == "a last line");
    }
    LoginEnd ran;
    ran.take(StdStream::out, "SSH-2.0-OpenSSH_9.2p1\r\n");
    CHECK(told(ran, 127) == "its sshd ended with code 127, without a message");
}

TEST_CASE("a node of an older dockdist is told as such, whoever left first") {
    LoginEnd end;
    end.take(StdStream::err, layout::init_usage);
    end.take(StdStream::err, " …\n" + std::string(10'000, 'a'));
    for (const bool left : {false, true}) {
        CHECK(told(end, 2, left) == "the node was created by a dockdist that could not let anybody log in");
    }
}

} // namespace login_end_test
