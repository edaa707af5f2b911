// What libssh2 cannot do goes by the user's own ssh: real ones, before a real sshd.
#include "behind_ssh.hpp"
#include "client/async/run_all.hpp"
#include "fakes/cancellable.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>

#include <array>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace user_ssh_test {

using namespace dockdist;

namespace {

constexpr const char* hardened = "MACs hmac-sha2-512-etm@openssh.com\nCiphers aes256-gcm@openssh.com\n";
constexpr const char* no_forwarding = "AllowStreamLocalForwarding no\n";

struct BehindHardenedSsh : BehindUserSsh {
    BehindHardenedSsh() : BehindUserSsh(hardened) {}
};
struct BehindStrictSsh : BehindUserSsh { // neither libssh2's algorithms nor forwarding
    BehindStrictSsh() : BehindUserSsh(std::string(hardened) + no_forwarding + "MaxSessions 3\n") {}
};
struct BehindFewSessions : BehindUserSsh {
    BehindFewSessions() : BehindUserSsh(std::string(no_forwarding) + "MaxSessions 3\n") {}
};
struct BehindPrintingShell : BehindUserSsh {
    explicit BehindPrintingShell(const std::string& more = "")
        : BehindUserSsh(more + no_forwarding +
                        "ForceCommand echo 'Welcome to HTTP, user!'; eval \"$SSH_ORIGINAL_COMMAND\"\n") {}
};
struct BehindHardenedPrintingShell : BehindPrintingShell {
    BehindHardenedPrintingShell() : BehindPrintingShell(hardened) {}
};
struct BehindCertificates : BehindUserSsh {
    BehindCertificates()
        : BehindUserSsh("TrustedUserCAKeys FOLDER/ca.pub\nHostCertificate FOLDER/host_ed25519-cert.pub\n") {
        front.make_key("ca", {"-t", "ed25519"}, false);
        run_program({"ssh-keygen", "-q", "-s", folder.file("ca"), "-I", "host", "-h", "-n", "127.0.0.1",
                     folder.file("host_ed25519.pub")});
        std::ofstream(folder.file("authorized_keys")) << "";
    }
    void certify(const std::string& key) const {
        run_program({"ssh-keygen", "-q", "-s", folder.file("ca"), "-I", "me", "-n", front.settings().user,
                     key + ".pub"});
    }
};
struct BehindTwoFactors : BehindUserSsh {
    BehindTwoFactors()
        : BehindUserSsh("AuthenticationMethods publickey,password\nPasswordAuthentication yes\n") {}
};

// The user's own connection, open as long as this lives.
class OpenMaster {
public:
    explicit OpenMaster(BehindUserSsh& behind) {
        const auto port = std::to_string(behind.front.address().port.number);
        const auto config = behind.folder.file("ssh_config");
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(ends[1], 1);
            ::execl("/usr/bin/ssh", "ssh", "-F", config.c_str(), "-M", "-N", "-o", "PermitLocalCommand=yes",
                    "-o", "LocalCommand=echo ready", "-p", port.c_str(), "127.0.0.1", nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        boost::asio::posix::stream_descriptor said(behind.io, ends[0]);
        std::array<char, 6> word{};
        bool ready = false;
        boost::asio::async_read(said, boost::asio::buffer(word),
                                [&](boost::system::error_code error, std::size_t) { ready = !error; });
        run_until(behind.io, [&] { return ready; });
    }
    OpenMaster(const OpenMaster&) = delete;
    OpenMaster& operator=(const OpenMaster&) = delete;
    ~OpenMaster() {
        ::kill(pid_, SIGTERM);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_ = 0;
};

} // namespace

TEST_CASE_FIXTURE(BehindHardenedSsh,
                  "a server without libssh2's algorithms is reached by ssh, one process for all") {
    const auto engine = client();
    CHECK(run_task(io, engine->inspect_volume("v")));
    CHECK(run_task(io, converse(*engine, "hello")).value() == "got hello");
    std::vector<Task<Result<std::string>>> tasks;
    const std::string input(1U << 20U, 'k');
    for (int i = 0; i < 12; ++i) {
        tasks.push_back(converse(*engine, input));
    }
    for (const auto& output : run_task(io, run_all(std::move(tasks)))) {
        CHECK(output.value() == "got " + input);
    }
    CHECK(front.connections() == 2); // libssh2's try among them
    CHECK(contains(engine->way(), "your own ssh, since libssh2 "));
    CHECK(docker_calls().empty());
}

TEST_CASE_FIXTURE(BehindHardenedSsh,
                  "a connection of ssh that was lost is made again, and streams on it end") {
    const auto engine = client();
    auto stream = run_task(io, engine->start_exec(ExecId("e")));
    REQUIRE(stream);
    Cancellable reading(io, (*stream)->read());
    front.hang_up();
    reading.wait();
    CHECK(run_task(io, engine->inspect_volume("v")));
}

TEST_CASE_FIXTURE(BehindStrictSsh,
                  "without forwarding each connection is a command, and more logins where sessions end") {
    const auto engine = client();
    std::vector<Task<Result<std::string>>> tasks;
    for (int i = 0; i < 7; ++i) {
        tasks.push_back(converse(*engine, "hello"));
    }
    for (const auto& output : run_task(io, run_all(std::move(tasks)))) {
        REQUIRE_MESSAGE(output, (output ? "" : to_text(output.error())));
        CHECK(*output == "got hello");
    }
    CHECK(contains(docker_calls(), "-H unix://" + folder.file("docker.sock") + " system dial-stdio"));
}

TEST_CASE_FIXTURE(BehindPrintingShell, "what a shell prints first is no answer of the engine's") {
    const auto engine = client();
    CHECK(run_task(io, converse(*engine, "hello")).value() == "got hello");
    CHECK(engine->way().empty());
    CHECK(front.connections() == 1);
}

TEST_CASE_FIXTURE(BehindHardenedPrintingShell, "nor where it goes by ssh") {
    CHECK(run_task(io, converse(*client(), "hello")).value() == "got hello");
}

TEST_CASE_FIXTURE(BehindUserSsh, "a key that may only dial is used for that at once") {
    const auto key = front.make_key("dial_only", {"-t", "ed25519"}, false);
    std::ofstream(folder.file("authorized_keys"))
        << "restrict,command=\"docker -H unix://" << folder.file("docker.sock") << " system dial-stdio\" "
        << run_program({"cat", key + ".pub"});
    configure("IdentityFile " + key);
    const auto engine = client();
    CHECK(run_task(io, converse(*engine, "hello")).value() == "got hello");
    CHECK_FALSE(contains(docker_calls(), "version"));
    CHECK(engine->way().empty());
    configure("IdentityFile " + key + "\nBindAddress 127.0.0.1"); // by ssh
    CHECK(run_task(io, converse(*client(), "hello")).value() == "got hello");
}

TEST_CASE_FIXTURE(BehindUserSsh, "what the configuration asks and libssh2 cannot do goes by ssh alone") {
    const auto by_ssh = [&](const std::string& lines, std::string_view why) {
        CAPTURE(lines);
        configure(lines);
        const int before = front.connections();
        const auto engine = client();
        const auto pinged = run_task(io, engine->ping());
        CHECK_MESSAGE(pinged, (pinged ? "" : to_text(pinged.error())));
        CHECK(engine->way() == "your own ssh, since " + std::string(why));
        CHECK(front.connections() == before + 1);
    };
    by_ssh("BindAddress 127.0.0.1", "your configuration says bindaddress 127.0.0.1");
    by_ssh("Ciphers aes256-gcm@openssh.com", "ciphers aes256-gcm@openssh.com");
    std::ofstream(folder.file("revoked")) << "# none yet\n";
    by_ssh("RevokedHostKeys FOLDER/revoked",
           "your configuration says revokedhostkeys " + folder.file("revoked"));
    by_ssh("PermitLocalCommand yes\nLocalCommand touch FOLDER/local",
           "your configuration says permitlocalcommand yes");
    CHECK(std::filesystem::exists(folder.file("local")));
    std::filesystem::create_directory(folder.file("a b"));
    std::filesystem::copy(front.known_hosts(), folder.file("a b/known"));
    by_ssh("UserKnownHostsFile \"FOLDER/a b/known\"",
           "your configuration says userknownhostsfile " + folder.file("a b/known"));
    by_ssh("UserKnownHostsFile none\nKnownHostsCommand /bin/cat " + front.known_hosts(),
           "your configuration says knownhostscommand /bin/cat " + front.known_hosts());
    // Forwardings, commands and terminals of the configuration are nothing to an engine.
    by_ssh("BindAddress 127.0.0.1\nRemoteCommand false\nRequestTTY force\nStdinNull "
           "yes\nForkAfterAuthentication yes\n"
           "LocalForward FOLDER/mine /nowhere\nControlMaster auto\nControlPersist 60\nControlPath "
           "FOLDER/mine.c\n"
           "ExitOnForwardFailure yes\nLogLevel QUIET",
           "your configuration says bindaddress 127.0.0.1");
    CHECK_FALSE(std::filesystem::exists(folder.file("mine")));
    CHECK_FALSE(std::filesystem::exists(folder.file("mine.c")));
}

TEST_CASE_FIXTURE(BehindUserSsh,
                  "a host key is taken without known_hosts where the user's ssh takes it, and nowhere else") {
    std::ofstream(front.known_hosts()) << "";
    CHECK(contains(refusal().message, "is not known: it shows ssh-ed25519 SHA256:"));
    configure("StrictHostKeyChecking yes");
    CHECK(contains(refusal().message, "is not known"));
    configure("StrictHostKeyChecking ask\nBindAddress 127.0.0.1");
    const auto error = refusal();
    CHECK(contains(error.message, "your own ssh does not reach 127.0.0.1:"));
    CHECK(contains(error.message, "host key is known for"));
    CHECK(contains(error.hint, "try `ssh -p "));
    configure("StrictHostKeyChecking no\nUserKnownHostsFile /dev/null");
    const auto engine = client();
    CHECK(run_task(io, engine->ping()));
    CHECK(contains(engine->way(), "your own ssh, since known_hosts does not hold its ssh-ed25519 key"));
    configure("StrictHostKeyChecking accept-new");
    CHECK(run_task(io, client()->ping()));
    CHECK(contains(run_program({"cat", front.known_hosts()}), "ssh-ed25519")); // ssh has written it
}

TEST_CASE_FIXTURE(BehindUserSsh, "a revoked or changed host key is refused by ssh as well, with the reason") {
    const auto said = [&](const std::string& part) {
        const auto message = refusal().message;
        CHECK_MESSAGE(contains(message, part), message);
    };
    const auto line = front.known_hosts_line();
    const auto key = line.substr(line.find(' ') + 1);
    std::ofstream(folder.file("revoked")) << "ssh-ed25519\t" << key.substr(key.find(' ') + 1);
    configure("RevokedHostKeys FOLDER/revoked");
    said("revoked by file " + folder.file("revoked"));
    configure("");
    std::ofstream(front.known_hosts()) << line << "@revoked * ssh-ed25519 " << key.substr(key.find(' ') + 1);
    said("is marked as revoked");
    const auto other = front.make_key("other", {"-t", "ed25519"}, false);
    std::ofstream(front.known_hosts())
        << line.substr(0, line.find(' ')) << " " << run_program({"cat", other + ".pub"});
    said("has changed: it shows");
    configure("BindAddress 127.0.0.1");
    said("REMOTE HOST IDENTIFICATION HAS CHANGED");
    CHECK(server.connections() == 0);
}

TEST_CASE_FIXTURE(BehindCertificates, "certificates of users and hosts, in files and in an agent") {
    certify(folder.file("id"));
    const auto engine = client();
    CHECK(run_task(io, engine->ping()));
    CHECK(contains(engine->way(), "your own ssh, since "));
    CHECK(contains(engine->way(), "has a certificate"));
    CHECK(front.connections() == 1);
    std::ofstream(front.known_hosts())
        << "@cert-authority 127.0.0.1,[127.0.0.1]:* " << run_program({"cat", folder.file("ca.pub")});
    CHECK(run_task(io, client()->ping()));

    const auto key = front.make_key("in_agent", {"-t", "ed25519"}, false);
    certify(key);
    const auto socket = folder.file("agent");
    const auto told = run_program({"ssh-agent", "-s", "-a", socket});
    const auto begin = told.find("SSH_AGENT_PID=") + 14;
    run_program({"env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", key});
    for (const auto* name : {"in_agent", "in_agent-cert.pub", "id", "id-cert.pub"}) {
        std::filesystem::remove(folder.file(name));
    }
    configure("IdentityAgent FOLDER/agent");
    const auto by_agent = client();
    CHECK(run_task(io, by_agent->ping()));
    CHECK(contains(by_agent->way(), "since ssh-ed25519-cert-v01@openssh.com (agent: in_agent)"));
    run_program({"kill", told.substr(begin, told.find(';', begin) - begin)});
}

TEST_CASE_FIXTURE(BehindUserSsh,
                  "keys in other forms than ssh-keygen's go by ssh, and a passphrase needs somebody to ask") {
    for (const auto* name : {"id", "id.pub"}) {
        std::filesystem::remove(folder.file(name));
    }
    const auto pem = front.make_key("pem", {"-t", "rsa", "-b", "2048", "-m", "PEM"});
    configure("IdentityFile " + pem);
    const auto engine = client();
    CHECK(run_task(io, engine->ping()));
    CHECK(contains(engine->way(), pem + " has a passphrase, or a form that dockdist does not read"));
    configure("IdentityFile " + front.make_key("ecdsa", {"-t", "ecdsa", "-b", "521"}));
    CHECK(run_task(io, client()->ping()));
    configure("IdentityFile " + front.make_key("locked", {"-t", "ed25519", "-N", "secret"}));
    const auto error = refusal();
    CHECK(contains(error.message, "Permission denied (publickey)"));
    CHECK(contains(error.message, "locked has a passphrase"));
}

TEST_CASE_FIXTURE(BehindTwoFactors,
                  "a second factor is ssh's to ask for, or stands behind a connection that is open") {
    const auto error = refusal();
    CHECK(contains(error.message, "dockdist uses it, since it wants more than a key: password"));
    front.hang_up();
}

TEST_CASE_FIXTURE(BehindUserSsh, "a connection that the user has open is the way, without a login") {
    configure("ControlPath FOLDER/mine.c\nLocalForward FOLDER/mine /nowhere");
    const auto engine = client();
    {
        const OpenMaster master(*this);
        std::ofstream(folder.file("authorized_keys")) << ""; // nobody logs in any more
        const int before = front.connections();
        CHECK(run_task(io, converse(*engine, "hello")).value() == "got hello");
        CHECK(contains(engine->way(), "a connection of yours is open"));
        CHECK(front.connections() == before);
        CHECK(docker_calls().empty()); // by a forwarding
    }
    CHECK(contains(refusal().message, "does not let "));
    std::ofstream(folder.file("authorized_keys")) << run_program({"cat", folder.file("id.pub")});
    CHECK(run_task(io, converse(*engine, "hello")).value() == "got hello"); // once it has ended, without it
    CHECK(engine->way().empty());
}

TEST_CASE_FIXTURE(BehindFewSessions, "where a connection that is open has no room, another one is made") {
    configure("ControlPath FOLDER/mine.c");
    const OpenMaster master(*this);
    const int before = front.connections();
    const auto engine = client();
    std::vector<Task<Result<std::string>>> tasks;
    for (int i = 0; i < 5; ++i) {
        tasks.push_back(converse(*engine, "hello"));
    }
    for (const auto& output : run_task(io, run_all(std::move(tasks)))) {
        REQUIRE_MESSAGE(output, (output ? "" : to_text(output.error())));
        CHECK(*output == "got hello");
    }
    CHECK(front.connections() > before);
}

TEST_CASE_FIXTURE(BehindUserSsh,
                  "nothing is left of an ssh that is a wrapper, nor one taken from a relative folder") {
    program("ssh", "#!/bin/sh\n/usr/bin/ssh -F " + folder.file("ssh_config") + " \"$@\"\nexit $?\n");
    std::filesystem::create_directory(folder.file("others"));
    std::ofstream(folder.file("others/ssh")) << "#!/bin/sh\ntouch " << folder.file("taken") << "\n";
    std::filesystem::permissions(folder.file("others/ssh"), std::filesystem::perms::owner_all);
    const std::string path = std::getenv("PATH");
    const auto others = std::filesystem::relative(folder.file("others")).string();
    ::setenv("PATH", (others + ":" + path).c_str(), 1);
    configure("BindAddress 127.0.0.1");
    {
        const auto engine = client();
        CHECK(run_task(io, engine->ping()));
        CHECK(contains(engine->way(), "bindaddress"));
    }
    CHECK(contains(front.log_of_the_end(), "Accepted publickey")); // all have gone
    CHECK_FALSE(std::filesystem::exists(folder.file("taken")));
}

TEST_CASE_FIXTURE(BehindUserSsh, "an sshd that turns ssh away, for too many are logging in, is asked again") {
    configure("BindAddress 127.0.0.1");
    front.turn_away(2);
    CHECK(run_task(io, client()->ping()));
    CHECK(front.turned_away() == 2);
}

} // namespace user_ssh_test
