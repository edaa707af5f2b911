// Messages and files of the ssh family: agent, keys, and what a host says of its socket.
#include "client/engine/transport/ssh/agent.hpp"
#include "client/engine/transport/ssh/key_file.hpp"
#include "client/engine/transport/ssh/packet.hpp"
#include "client/engine/transport/ssh/remote_socket.hpp"
#include "fakes/ssh_front.hpp"

#include <doctest/doctest.h>

#include <random>

namespace ssh_words_test {

using namespace dockdist;

namespace {

std::string blob_of(const std::string& type) {
    std::string blob;
    put_string(blob, type);
    put_string(blob, "key");
    return blob;
}

} // namespace

TEST_CASE("the agent's list of keys") {
    std::string answer("\x0C", 1);
    put_u32(answer, 2);
    for (const auto* comment : {"one", "two"}) {
        put_string(answer, blob_of("ssh-ed25519"));
        put_string(answer, comment);
    }
    const auto keys = parse_agent_keys(answer).value();
    REQUIRE(keys.size() == 2);
    CHECK(keys[1] == AgentKey{blob_of("ssh-ed25519"), "two"});
    for (std::size_t size = 0; size < answer.size(); ++size) {
        CHECK_FALSE(parse_agent_keys(answer.substr(0, size)).has_value());
    }
    CHECK_FALSE(parse_agent_keys(std::string("\x0C\xFF\xFF\xFF\xFF", 5)).has_value());
    CHECK_FALSE(parse_agent_keys("\x05").has_value()); // refused
}

TEST_CASE("an RSA key is to be used by SHA-2, the others as they are") {
    CHECK(agent_sign_request(blob_of("ssh-rsa"), "data").ends_with(std::string("data\0\0\0\2", 8)));
    CHECK(agent_sign_request(blob_of("ssh-ed25519"), "data").ends_with(std::string("data\0\0\0\0", 8)));
}

TEST_CASE("the agent's signature without its algorithm's name") {
    std::string inner;
    put_string(inner, "rsa-sha2-256");
    put_string(inner, "signature");
    std::string answer("\x0E", 1);
    put_string(answer, inner);
    CHECK(parse_agent_signature(answer) == "signature");
    for (std::size_t size = 0; size < answer.size(); ++size) {
        CHECK_FALSE(parse_agent_signature(answer.substr(0, size)).has_value());
    }
}

TEST_CASE("keys are known by what stands in the clear, and plain ones sign") {
    TemporaryFolder folder;
    const auto make = [&](const std::string& name, std::vector<std::string> options) {
        std::vector<std::string> command{"ssh-keygen", "-q", "-f", folder.file(name)};
        command.insert(command.end(), options.begin(), options.end());
        run_program(command);
        return inspect_key(run_program({"cat", folder.file(name)}),
                           run_program({"cat", folder.file(name) + ".pub"}));
    };
    const auto plain = make("a", {"-t", "ed25519", "-N", ""});
    CHECK(plain.plain);
    CHECK(key_type(plain.blob) == "ssh-ed25519");
    const auto listed = run_program({"ssh-keygen", "-l", "-f", folder.file("a")});
    CHECK(listed.find(fingerprint(plain.blob)) != std::string::npos);
    CHECK(PrivateKey::read(plain).value().sign("data").value().size() == 64);

    const auto locked = make("b", {"-t", "ecdsa", "-N", "secret"});
    CHECK_FALSE(locked.plain);
    CHECK(key_type(locked.blob) == "ecdsa-sha2-nistp256");
    CHECK_FALSE(PrivateKey::read(locked).has_value());

    const auto pem = make("c", {"-t", "rsa", "-b", "2048", "-m", "PEM", "-N", ""});
    CHECK_FALSE(pem.plain);
    CHECK(key_type(pem.blob) == "ssh-rsa"); // from the .pub

    const auto rsa = make("d", {"-t", "rsa", "-b", "2048", "-N", ""});
    CHECK(PrivateKey::read(rsa).value().sign("data").value().size() == 256);
    const auto ecdsa = make("f", {"-t", "ecdsa", "-b", "384", "-N", ""});
    CHECK_FALSE(PrivateKey::read(ecdsa).has_value()); // ssh's

    std::mt19937 random(3); // damaged files
    for (int round = 0; round < 400; ++round) {
        auto text = (round % 2 == 0 ? rsa : ecdsa).text;
        for (int i = 0; i < 3; ++i) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        (void)PrivateKey::read(inspect_key(text, "ssh-rsa AAAA"));
    }
}

TEST_CASE("files that are no private keys") {
    CHECK_FALSE(inspect_key("hello", "").plain);
    CHECK(inspect_key("", "ssh-ed25519 nonsense").blob.empty());
    const std::string line =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me\n";
    const auto named = inspect_key(line, ""); // IdentityFile ~/.ssh/id.pub, of a key that an agent has
    CHECK(named.text.empty());
    CHECK(named.blob == inspect_key("", line).blob);
    CHECK_FALSE(named.blob.empty());
    CHECK_FALSE(
        inspect_key("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", "")
            .plain);
    CHECK(short_path("/home/ada/.ssh/id", "/home/ada") == "~/.ssh/id");
    CHECK(short_path("/home/adam/id", "/home/ada") == "/home/adam/id");
}

TEST_CASE("what a host says of its socket") {
    using State = SocketReport::State;
    CHECK(parse_socket_report("dockdist: the socket is forbidden\nanswers \npermission denied\n") ==
          SocketReport{State::forbidden, false, "permission denied"});
    CHECK(parse_socket_report("dockdist: the socket is writable\nanswers 26.1.5\n") ==
          SocketReport{State::writable, true, ""});
    CHECK(parse_socket_report("dockdist: the socket is missing\nsh: 1: docker: not found\n") ==
          SocketReport{State::missing, false, "sh: 1: docker: not found"});
    CHECK(parse_socket_report("dockdist: the socket is missing\nanswers <no value>\nCannot connect\x1b\n") ==
          SocketReport{State::missing, false, "Cannot connect\\x1b"});
    CHECK(parse_socket_report("").state == State::unknown);
    CHECK(parse_socket_report("writable\n").state == State::unknown);
    CHECK(parse_socket_report("Welcome!\nmissing\ndockdist: the socket is writable\n").state ==
          State::writable);
}

TEST_CASE("each trouble with the socket says what to do") {
    using State = SocketReport::State;
    const auto error = [](State state) {
        return socket_error({.state = state, .complaint = "docker: not found"}, "gpu-1", "ada", "",
                            "connect failed");
    };
    CHECK(error(State::forbidden).message == "ada may not use /var/run/docker.sock on gpu-1");
    CHECK(error(State::forbidden).hint.find("sudo usermod -aG docker ada") != std::string::npos);
    CHECK(error(State::missing).message == "there is no socket /var/run/docker.sock on gpu-1");
    CHECK(error(State::missing).hint.ends_with("; Podman's: ssh://root@HOST/run/podman/podman.sock"));
    CHECK(error(State::writable).message == "sshd on gpu-1 did not connect us to /var/run/docker.sock "
                                            "(connect failed), and `docker` there says: docker: "
                                            "not found");
    CHECK(error(State::unknown).hint.find("AllowStreamLocalForwarding yes") != std::string::npos);
    for (const auto state : {State::forbidden, State::missing, State::writable}) {
        const auto hint = socket_error({.state = state}, "gpu-1", "ada", "/run/podman/podman.sock", "").hint;
        CAPTURE(hint);
        CHECK(hint.find("start podman.socket") != std::string::npos);
        CHECK(hint.find("ocker") == std::string::npos);
    }
    const auto of_user =
        socket_error({.state = State::writable}, "gpu-1", "ada", "/run/user/7/podman/podman.sock", "x");
    CHECK(of_user.message == "sshd on gpu-1 did not connect us to /run/user/7/podman/podman.sock (x), and "
                             "`podman` there says: nothing");
    CHECK(of_user.hint.find("(systemctl --user start podman.socket)") != std::string::npos);
}

TEST_CASE("paths reach the host's shell as one word") {
    CHECK(dial_command("") == "docker system dial-stdio");
    CHECK(dial_command("/run/my docker.sock") == "docker -H 'unix:///run/my docker.sock' system dial-stdio");
    CHECK(dial_command("/run/podman/podman.sock") ==
          "podman --url unix:///run/podman/podman.sock system dial-stdio");
    CHECK(ask_about_socket_command("/run/podman/podman.sock").find("podman --url unix:///run/podman/") !=
          std::string::npos);
    const auto output =
        run_program({"sh", "-c", ask_about_socket_command("/no'where $(echo x)") + " || true"});
    CHECK(output.starts_with("dockdist: the socket is missing\n"));
}

} // namespace ssh_words_test
