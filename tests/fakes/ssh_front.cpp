#include "fakes/ssh_front.hpp"

#include "client/async/task.hpp"
#include "fakes/local_front.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <pwd.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr const char* sshd = "/usr/sbin/sshd";

std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

pid_t start_sshd(int connection, const std::string& config, const std::string& log) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::setpgid(0, 0); // with the process of the session, which sshd forks
        const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(connection, 0);
        ::dup2(connection, 1);
        ::dup2(errors, 2);
        ::fcntl(0, F_SETFL, 0); // Asio's sockets do not block
        ::execl(sshd, sshd, "-i", "-e", "-f", config.c_str(), nullptr);
        ::_exit(127);
    }
    ::setpgid(pid, pid);
    return pid;
}

} // namespace

std::string run_program(const std::vector<std::string>& command) {
    std::FILE* pipe = ::popen(shell_join(command).c_str(), "re");
    if (pipe == nullptr) {
        throw std::runtime_error("no " + command.front());
    }
    std::string output;
    std::array<char, 4096> buffer{};
    while (const auto count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
        output.append(buffer.data(), count);
    }
    if (::pclose(pipe) != 0) {
        throw std::runtime_error(shell_join(command) + " failed: " + output);
    }
    return output;
}

struct SshFront::State {
    State(asio::io_context& io, const TemporaryFolder& where, const EngineAddress& engine_address)
        : folder(where), acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          engine(io, where.file("docker.sock"), engine_address) {}
    const TemporaryFolder& folder;
    tcp::acceptor acceptor;
    LocalFront engine;
    std::vector<pid_t> running{};
    int connections = 0;
    int turn_away = 0;
    int turned_away = 0;
};

SshFront::SshFront(asio::io_context& io, const TemporaryFolder& folder, const EngineAddress& behind,
                   const std::string& more)
    : state_(std::make_shared<State>(io, folder, behind)) {
    if (::getuid() == 0) {
        ::mkdir("/run/sshd", 0755); // sshd of root insists; what starts the service makes it otherwise
    }
    for (const auto* type : {"ed25519", "ecdsa"}) {
        run_program(
            {"ssh-keygen", "-q", "-t", type, "-N", "", "-f", folder.file(fmt::format("host_{}", type))});
    }
    make_key("id", {"-t", "ed25519"});
    std::ofstream(folder.file("sshd_config"))
        << more << "\nHostKey " << folder.file("host_ed25519") << "\nHostKey " << folder.file("host_ecdsa")
        << "\nAuthorizedKeysFile " << folder.file("authorized_keys")
        << "\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
           "LogLevel VERBOSE\n";
    std::ofstream(folder.file("known_hosts")) << known_hosts_line();

    const auto serve = [](std::shared_ptr<State> state) -> Task<void> {
        while (true) {
            auto [error, socket] = co_await state->acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
            if (error) {
                co_return;
            }
            if (state->turn_away > 0) {
                --state->turn_away;
                ++state->turned_away;
                (void)co_await asio::async_write(socket, asio::buffer("Exceeded MaxStartups\r\n", 22),
                                                 asio::as_tuple(asio::use_awaitable));
                continue;
            }
            ++state->connections;
            state->running.push_back(start_sshd(socket.native_handle(), state->folder.file("sshd_config"),
                                                state->folder.file("log")));
        }
    };
    asio::co_spawn(io, serve(state_), asio::detached);
}

SshFront::~SshFront() {
    boost::system::error_code ignored;
    ignored = state_->acceptor.close(ignored);
    hang_up();
}

void SshFront::freeze() {
    for (const pid_t pid : state_->running) {
        ::kill(-pid, SIGSTOP);
    }
}

void SshFront::hang_up() {
    for (const pid_t pid : std::exchange(state_->running, {})) {
        ::kill(-pid, SIGKILL); // a SIGTERM between login and session gets lost in sshd
        ::waitpid(pid, nullptr, 0);
    }
}

EngineAddress SshFront::address() const {
    const auto port = state_->acceptor.local_endpoint().port();
    return {EngineAddress::Scheme::ssh,
            "",
            "127.0.0.1",
            Port{port},
            state_->folder.file("docker.sock"),
            fmt::format("ssh://127.0.0.1:{}", port)};
}

SshSettings SshFront::settings() const {
    SshSettings settings;
    settings.alias = "front";
    settings.host = "127.0.0.1";
    settings.port = address().port;
    settings.user = ::getpwuid(::getuid())->pw_name;
    settings.identity_files = {state_->folder.file("id")};
    settings.known_hosts = {known_hosts()};
    return settings;
}

int SshFront::connections() const {
    return state_->connections;
}

void SshFront::turn_away(int count) {
    state_->turn_away = count;
}

int SshFront::turned_away() const {
    return state_->turned_away;
}

std::string SshFront::make_key(const std::string& name, const std::vector<std::string>& options,
                               bool allowed) {
    const auto path = state_->folder.file(name);
    std::vector<std::string> command{"ssh-keygen", "-q", "-C", name, "-f", path};
    command.insert(command.end(), options.begin(), options.end());
    if (std::ranges::find(options, "-N") == options.end()) {
        command.insert(command.end(), {"-N", ""});
    }
    run_program(command);
    if (allowed) {
        std::ofstream(state_->folder.file("authorized_keys"), std::ios::app) << read(path + ".pub");
    }
    return path;
}

std::string SshFront::known_hosts() const {
    return state_->folder.file("known_hosts");
}

// Only one of the two keys, as after a first login with OpenSSH.
std::string SshFront::known_hosts_line() const {
    return fmt::format("[127.0.0.1]:{} {}", address().port.number,
                       read(state_->folder.file("host_ed25519.pub")));
}

std::string SshFront::log_of_the_end() {
    for (const pid_t pid : std::exchange(state_->running, {})) {
        ::waitpid(pid, nullptr, 0);
    }
    return read(state_->folder.file("log"));
}

} // namespace dockdist
