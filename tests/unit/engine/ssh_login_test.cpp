// How an ssh connection begins: the host's key, the user's keys, the way there, and what may be wrong with
// each.
#include "behind_ssh.hpp"
#include "client/engine/transport/ssh/algorithms.hpp"
#include "fakes/cancellable.hpp"

#include <filesystem>
#include <fstream>

namespace ssh_login_test {

using namespace dockdist;

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

TEST_CASE("a server that has only what the configuration leaves out is refused") {
    for (const auto* weak :
         {"KexAlgorithms diffie-hellman-group1-sha1", "KexAlgorithms diffie-hellman-group14-sha1",
          "Ciphers 3des-cbc,aes256-cbc", "Ciphers aes256-ctr\nMACs hmac-md5,hmac-sha1-96"}) {
        CAPTURE(weak);
        BehindUserSsh behind(weak);
        const auto message = behind.refusal().message;
        CHECK_MESSAGE(contains(message, "Unable to negotiate with 127.0.0.1"), message);
        behind.configure(
            std::regex_replace(std::string(weak), std::regex(" "), " +")); // what libssh2 has is its own
        const auto engine = behind.client();
        CHECK(run_task(behind.io, engine->ping()));
        CHECK(engine->way().empty());
    }
}

TEST_CASE_FIXTURE(BehindSsh, "what the configuration allows is all that is agreed to") {
    std::ofstream(front.known_hosts(), std::ios::app) << "[127.0.0.1]:" << front.address().port.number << " "
                                                      << run_program({"cat", folder.file("host_ecdsa.pub")});
    auto settings = front.settings();
    settings.algorithms = {.key_exchange = {"ecdh-sha2-nistp521"},
                           .ciphers = {"aes192-ctr"},
                           .macs = {"hmac-sha2-512"},
                           .host_keys = {"ecdsa-sha2-nistp256"},
                           .user_keys = {"ssh-ed25519"}};
    CHECK(run_task(io, engine(settings)->ping()));
    CHECK(contains(lacking({.ciphers = {"aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"}}),
                   "ciphers aes256-gcm@openssh.com,chacha20"));
    CHECK(lacking({}).empty());
}

TEST_CASE_FIXTURE(BehindUserSsh, "keys that the configuration leaves out are not offered") {
    configure("PubkeyAcceptedAlgorithms rsa-sha2-512");
    CHECK(contains(refusal().message, "leaves ssh-ed25519 out"));
    const auto rsa = "IdentityFile " + front.make_key("rsa", {"-t", "rsa", "-b", "2048"}) + "\n";
    std::filesystem::remove(folder.file("id"));
    configure(rsa + "RequiredRSASize 2049");
    CHECK(contains(refusal().message, "RequiredRSASize of your ssh configuration is 2049"));
    configure(rsa + "RequiredRSASize 2048");
    CHECK(run_task(io, client()->ping()));
    CHECK_FALSE(contains(front.log_of_the_end(), "Failed publickey"));
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

TEST_CASE_FIXTURE(BehindSsh, "keys of every usual kind open the door") {
    const std::vector<std::vector<std::string>> kinds{
        {"-t", "ed25519"},
        {"-t", "rsa", "-b", "2048"},
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
        std::filesystem::rename(key, key + ".elsewhere");
        for (const auto& name : {key, key + ".pub"}) { // no such key file, but its public half
            settings.identity_files = {name};
            const auto by_name = engine(settings);
            CHECK(run_task(io, by_name->ping()));
            CHECK(by_name->way().empty());
        }
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
    settings.proxy = {"/bin/sh", "-c", "echo \"asked by $SSH_ASKPASS, $SSH_ASKPASS_REQUIRE\" >&2; exit 255"};
    CHECK(contains(refusal(settings).message, "asked by /bin/false, force")); // whoever sits at a terminal
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
