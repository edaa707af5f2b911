// How an ssh connection begins: the host's key, the user's keys, the way there, and what may be wrong with
// each.
#include "behind_ssh.hpp"
#include "fakes/cancellable.hpp"

#include <filesystem>
#include <fstream>

namespace ssh_login_test {

using namespace dockdist;

namespace {

struct BehindHardenedSsh : BehindSsh {
    BehindHardenedSsh() : BehindSsh("MACs umac-64-etm@openssh.com\nCiphers aes128-ctr") {}
};

} // namespace

TEST_CASE_FIXTURE(BehindSsh,
                  "a host whose key is not known is refused, with its fingerprint and what to do") {
    std::ofstream(front.known_hosts()) << "";
    const auto error = refusal(front.settings());
    CHECK(error.kind == ErrorKind::unreachable);
    CHECK(contains(error.message, "is not known: it shows ssh-ed25519 SHA256:"));
    CHECK(contains(error.hint, "connect once with `ssh -p "));
    CHECK(contains(error.hint, "ssh-keyscan -p "));
}

TEST_CASE_FIXTURE(BehindSsh, "a host whose key has changed is refused, with the line that says otherwise") {
    const auto other = front.make_key("other", {"-t", "ed25519"}, false);
    auto line = run_program({"cat", other + ".pub"});
    std::ofstream(front.known_hosts()) << "# mine\n"
                                       << "[127.0.0.1]:" << front.address().port.number << " " << line;
    const auto error = refusal(front.settings());
    CHECK(contains(error.message, "the host key of front:"));
    CHECK(contains(error.message, "has changed: it shows ssh-ed25519 SHA256:"));
    CHECK(contains(error.message, front.known_hosts() + ":2 holds another one"));
    CHECK(contains(error.hint, "ssh-keygen -R '[127.0.0.1]:"));
}

TEST_CASE_FIXTURE(BehindSsh, "the type of key that is known is the one that is asked for") {
    const auto ecdsa = run_program({"cat", folder.file("host_ecdsa.pub")});
    std::ofstream(front.known_hosts()) << "[127.0.0.1]:" << front.address().port.number << " " << ecdsa;
    CHECK(run_task(io, engine()->ping()));
}

TEST_CASE_FIXTURE(BehindSsh, "known_hosts may hide its names") {
    run_program({"ssh-keygen", "-q", "-H", "-f", front.known_hosts()});
    CHECK(contains(run_program({"cat", front.known_hosts()}), "|1|"));
    CHECK(run_task(io, engine()->ping()));
}

TEST_CASE_FIXTURE(BehindSsh, "a revoked key is refused although it is known") {
    auto line = front.known_hosts_line();
    std::ofstream(front.known_hosts()) << line << "@revoked * " << line.substr(line.find(' ') + 1);
    CHECK(contains(refusal(front.settings()).message, "is revoked"));
}

TEST_CASE_FIXTURE(BehindSsh, "RevokedHostKeys refuses a known host, and every host where it cannot be read") {
    auto settings = front.settings();
    const auto line = front.known_hosts_line();
    settings.revoked_keys = {folder.file("revoked")};
    CHECK(contains(refusal(settings).message, settings.revoked_keys.front() + ", which RevokedHostKeys"));
    std::ofstream(settings.revoked_keys.front()) << "# none yet\n";
    CHECK(run_task(io, engine(settings)->ping()));
    std::ofstream(folder.file("also.pub")) << line.substr(line.find(' ') + 1);
    run_program({"ssh-keygen", "-q", "-k", "-f", folder.file("also"), folder.file("also.pub")});
    settings.revoked_keys.push_back(folder.file("also"));
    CHECK(contains(run_task(io, engine(settings)->ping()).error().message,
                   "is revoked (" + folder.file("also")));
}

TEST_CASE_FIXTURE(BehindHardenedSsh, "a server with other algorithms than libssh2's is told as such") {
    const auto error = refusal(front.settings());
    CHECK(contains(error.message, "have no algorithm in common that your ssh configuration allows"));
    CHECK(contains(error.hint, "ssh -NL /tmp/docker.sock:/var/run/docker.sock front"));
}

TEST_CASE("a server that has only what the configuration leaves out is refused") {
    for (const auto* weak :
         {"KexAlgorithms diffie-hellman-group1-sha1", "KexAlgorithms diffie-hellman-group14-sha1",
          "Ciphers 3des-cbc,aes256-cbc", "MACs hmac-md5,hmac-sha1-96"}) {
        CAPTURE(weak);
        BehindSsh behind(weak);
        CHECK(contains(behind.refusal(behind.front.settings()).message, "have no algorithm in common"));
        auto settings = behind.front.settings();
        settings.algorithms.key_exchange.emplace_back("diffie-hellman-group1-sha1");
        settings.algorithms.key_exchange.emplace_back("diffie-hellman-group14-sha1");
        settings.algorithms.ciphers.emplace_back("3des-cbc");
        settings.algorithms.macs.emplace_back("hmac-md5");
        CHECK(run_task(behind.io, behind.engine(settings)->ping()));
    }
}

TEST_CASE_FIXTURE(BehindSsh,
                  "what the configuration allows is all that is agreed to, or nothing is dialled") {
    std::ofstream(front.known_hosts(), std::ios::app) << "[127.0.0.1]:" << front.address().port.number << " "
                                                      << run_program({"cat", folder.file("host_ecdsa.pub")});
    auto settings = front.settings();
    settings.algorithms = {.key_exchange = {"ecdh-sha2-nistp521"},
                           .ciphers = {"aes192-ctr"},
                           .macs = {"hmac-sha2-512"},
                           .host_keys = {"ecdsa-sha2-nistp256"},
                           .user_keys = {"ssh-ed25519"}};
    CHECK(run_task(io, engine(settings)->ping()));
    settings.algorithms.ciphers = {"aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"};
    settings.algorithms.macs = {"umac-128@openssh.com"};
    const auto error = run_task(io, engine(settings)->ping()).error();
    CHECK(error.kind == ErrorKind::config);
    CHECK(contains(error.message, "of your ssh configuration allows: "));
    CHECK(server.connections() == 1);
}

TEST_CASE_FIXTURE(BehindSsh,
                  "what dockdist itself cannot obey is refused by its name before anything is dialled") {
    auto settings = front.settings();
    settings.beyond = {"bindaddress 127.0.0.2"};
    const auto error = refusal(settings);
    CHECK(contains(error.message, "your ssh configuration says `bindaddress 127.0.0.2` for front"));
    CHECK(front.connections() == 0);
}

TEST_CASE_FIXTURE(BehindSsh,
                  "keys that the configuration leaves out are not offered, nor asked for in batch mode") {
    auto settings = front.settings();
    settings.algorithms.user_keys = {"rsa-sha2-512"};
    CHECK(contains(refusal(settings).message, "leaves ssh-ed25519 out"));
    settings = front.settings();
    settings.identity_files = {front.make_key("rsa", {"-t", "rsa", "-b", "2048"})};
    settings.algorithms.rsa_bits = 2049;
    CHECK(contains(refusal(settings).message, "RequiredRSASize of your ssh configuration is 2049"));
    settings.algorithms.rsa_bits = 2048;
    CHECK(run_task(io, engine(settings)->ping()));
    settings.identity_files = {front.make_key("locked", {"-t", "ed25519", "-N", "secret"})};
    settings.batch = true;
    CHECK(contains(run_task(io, engine(settings)->ping()).error().message, "nobody is asked for it here"));
}

TEST_CASE_FIXTURE(BehindSsh, "a key that the server does not take is named, with the user") {
    auto settings = front.settings();
    settings.identity_files = {front.make_key("stranger", {"-t", "ed25519"}, false)};
    const auto error = refusal(settings);
    CHECK(error.kind == ErrorKind::unreachable);
    CHECK(contains(error.message, "does not let " + settings.user + " in: it refused "));
    CHECK(contains(error.message, settings.identity_files[0]));
    CHECK(contains(error.hint, "ssh-copy-id"));
}

TEST_CASE_FIXTURE(BehindSsh, "without any key, that is said") {
    auto settings = front.settings();
    settings.identity_files = {folder.file("nothing-here")};
    CHECK(contains(refusal(settings).message, "there was no key to try (no ssh agent runs)"));
}

TEST_CASE_FIXTURE(BehindSsh, "keys of every usual kind and form open the door") {
    const std::vector<std::vector<std::string>> kinds{
        {"-t", "ecdsa"},
        {"-t", "ecdsa", "-b", "521"},
        {"-t", "ecdsa", "-m", "PEM"},
        {"-t", "rsa", "-b", "2048"},
        {"-t", "rsa", "-b", "2048", "-m", "PEM"},
        {"-t", "rsa", "-b", "2048", "-m", "PKCS8"},
    };
    int number = 0;
    for (const auto& kind : kinds) {
        CAPTURE(kind[1]);
        CAPTURE(kind.back());
        auto settings = front.settings();
        settings.identity_files = {front.make_key("kind" + std::to_string(number++), kind)};
        const auto pinged = run_task(io, engine(settings)->ping());
        CHECK_MESSAGE(pinged, (pinged ? "" : to_text(pinged.error())));
    }
}

TEST_CASE_FIXTURE(BehindSsh, "the agent's keys open the door, RSA by SHA-2 among them") {
    for (const auto* type : {"ed25519", "ecdsa", "rsa"}) {
        CAPTURE(type);
        const auto key = front.make_key(std::string("agent_") + type, {"-t", type});
        const auto socket = folder.file(std::string("agent.") + type);
        const auto told = run_program({"ssh-agent", "-s", "-a", socket}); // listens when this returns
        const auto begin = told.find("SSH_AGENT_PID=") + 14;
        const auto pid = told.substr(begin, told.find(';', begin) - begin);
        run_program({"env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", key});
        auto settings = front.settings();
        settings.identity_files = {};
        settings.agent_socket = socket;
        const auto pinged = run_task(io, engine(settings)->ping());
        CHECK_MESSAGE(pinged, (pinged ? "" : to_text(pinged.error())));
        settings.identities_only = true;
        CHECK_FALSE(run_task(io, engine(settings)->ping()));
        settings.identity_files = {key + ".pub"}; // no such key file, but its public half
        std::filesystem::rename(key, key + ".elsewhere");
        settings.identity_files = {key};
        CHECK(run_task(io, engine(settings)->ping()));
        run_program({"kill", pid});
    }
}

TEST_CASE_FIXTURE(BehindSsh, "a socket that is not there is told as such") {
    auto address = front.address();
    address.path = folder.file("nowhere.sock");
    const auto client = make_docker_engine(
        io.get_executor(), {.host = HostName("a"), .address = address, .ssh = front.settings()});
    const auto error = run_task(io, client->ping()).error();
    CHECK(error.message ==
          "there is no socket " + address.path + " on front:" + std::to_string(address.port.number));
}

TEST_CASE_FIXTURE(BehindSsh, "a proxy's stdin and stdout carry the connection") {
    auto settings = front.settings();
    settings.proxy = {"/bin/bash", "-c",
                      "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(settings.port.number) +
                          "; cat <&3 & exec cat >&3"};
    settings.proxy_name = "a proxy";
    settings.host = "unused.invalid";
    settings.host_key_alias = "[127.0.0.1]:" + std::to_string(settings.port.number);
    const auto client = engine(settings);
    CHECK(run_task(io, converse(*client, std::string(1U << 20U, 'p'))).value().size() == (1U << 20U) + 4);
}

TEST_CASE_FIXTURE(BehindSsh, "a proxy that fails says why") {
    auto settings = front.settings();
    settings.proxy = {"/bin/sh", "-c", "echo one >&2; echo 'jump: Connection refused' >&2; exit 255"};
    settings.proxy_name = "jump";
    const auto error = refusal(settings);
    CHECK(contains(error.message, "through jump: jump: Connection refused"));
}

TEST_CASE("a port where nothing listens, or no sshd, is told as such") {
    boost::asio::io_context io;
    StubServer web(io, [](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_some();
        co_await connection.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request");
    });
    SshSettings settings{.alias = "web", .host = "127.0.0.1", .user = "ada", .port = web.address().port};
    EngineAddress address = web.address();
    address.scheme = EngineAddress::Scheme::ssh;
    address.url = "ssh://web";
    auto client =
        make_docker_engine(io.get_executor(), {.host = HostName("a"), .address = address, .ssh = settings});
    const auto error = run_task(io, client->ping()).error();
    CHECK(error.kind == ErrorKind::unreachable);
    CHECK(contains(error.message, "is not an ssh server"));
    settings.port = Port{1};
    client =
        make_docker_engine(io.get_executor(), {.host = HostName("a"), .address = address, .ssh = settings});
    CHECK(run_task(io, client->ping()).error().message == "ssh://web refused the connection to port 1");
}

TEST_CASE("a server that accepts and says nothing is a timeout") {
    // The deadline of the handshake is the program's own; here the client gives up first.
    boost::asio::io_context io;
    StubServer silent(
        io, [](StubConnection connection) -> Task<void> { co_await connection.wait_until_client_closes(); });
    const SshSettings settings{
        .alias = "s", .host = "127.0.0.1", .user = "ada", .port = silent.address().port};
    EngineAddress address = silent.address();
    address.scheme = EngineAddress::Scheme::ssh;
    const auto client =
        make_docker_engine(io.get_executor(), {.host = HostName("a"), .address = address, .ssh = settings});
    Cancellable call(io, client->ping());
    run_until(io, [&] { return silent.connections() == 1; });
    call.cancel();
    call.wait();
    CHECK(call.ended_by_cancellation());
}

} // namespace ssh_login_test
