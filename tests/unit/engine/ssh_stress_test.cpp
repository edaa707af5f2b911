// An sshd at its limits: no forwarding of sockets, few sessions, few logins at a time.
#include "behind_ssh.hpp"
#include "client/async/run_all.hpp"

#include <filesystem>
#include <fstream>

namespace ssh_stress_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

struct WithoutForwarding : BehindSsh {
    explicit WithoutForwarding(const std::string& more = "")
        : BehindSsh("AllowStreamLocalForwarding no\nSetEnv PATH=FOLDER/:/usr/bin:/bin\n" + more) {
        std::ofstream(folder.file("docker")) << docker_program;
        std::filesystem::permissions(folder.file("docker"), std::filesystem::perms::all);
    }

    void converse_at_once(int count) {
        const auto client = engine();
        std::vector<Task<Result<std::string>>> tasks;
        const auto input = [](int i) { return std::string(100'000, static_cast<char>('a' + i % 26)); };
        for (int i = 0; i < count; ++i) {
            tasks.push_back(converse(*client, input(i)));
        }
        const auto outputs = run_task(io, run_all(std::move(tasks)));
        for (int i = 0; i < count; ++i) {
            const auto& output = outputs[static_cast<std::size_t>(i)];
            REQUIRE_MESSAGE(output, to_text(output.error()));
            CHECK(*output == "got " + input(i));
        }
        // The sessions are there now, and whatever came to its end has left its place.
        const int connections = front.connections();
        for (int i = 0; i < 12; ++i) {
            CHECK(run_task(io, converse(*client, "again")).value() == "got again");
        }
        CHECK(front.connections() == connections);
    }
};

struct WithoutForwardingAndWithFewSessions : WithoutForwarding {
    WithoutForwardingAndWithFewSessions() : WithoutForwarding("MaxSessions 3") {}
};

} // namespace

TEST_CASE_FIXTURE(WithoutForwarding,
                  "where sshd forwards no sockets, commands carry 24 streams side by side") {
    converse_at_once(24);
    CHECK(front.connections() <= 4); // 24 streams and the kept one, 8 a session
}

TEST_CASE_FIXTURE(WithoutForwardingAndWithFewSessions, "an sshd that allows fewer sessions is served, too") {
    converse_at_once(9);
}

TEST_CASE_FIXTURE(BehindSsh, "an sshd that turns us away, for too many are logging in, is asked again") {
    front.turn_away(2);
    CHECK(run_task(io, engine()->ping()));
    CHECK(front.turned_away() == 2);
    CHECK(front.connections() == 1);
}

TEST_CASE_FIXTURE(BehindSsh, "an sshd that turns everybody away is told as such, with its words") {
    front.turn_away(1000);
    auto settings = front.settings();
    settings.connect_timeout = 250ms;
    const auto error = refusal(settings);
    CHECK(error.kind == ErrorKind::unreachable);
    CHECK(contains(error.message, "closed the connection during the ssh handshake"));
    CHECK(contains(error.hint, "MaxStartups"));
    CHECK(front.turned_away() >= 2);
    CHECK(front.connections() == 0);
}

} // namespace ssh_stress_test
