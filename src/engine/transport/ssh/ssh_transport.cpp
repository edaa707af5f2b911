#include "async/with_timeout.hpp"
#include "engine/transport/ssh/commons.hpp"
#include "engine/transport/ssh/login.hpp"
#include "engine/transport/ssh/remote_socket.hpp"
#include "engine/transport/ssh/session.hpp"
#include "engine/transport/ssh/settings.hpp"
#include "engine/transport/tcp_connect.hpp"
#include "engine/transport/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using StreamResult = Result<std::unique_ptr<ByteStream>>;
using Handle = std::shared_ptr<SshSession>;

constexpr auto agreement_limit = 10s;
constexpr auto login_limit = 120s; // a person may have to be asked; sshd gives up after that time, too
constexpr auto command_limit = 20s;
constexpr int commands_a_session = 8; // sshd's MaxSessions is 10 by default; sockets do not count

class SshTransport final : public Transport {
public:
    SshTransport(boost::asio::any_io_executor executor, EngineAddress address,
                 std::optional<SshSettings> settings, milliseconds limit)
        : shared_(std::make_shared<Shared>()) {
        shared_->executor = std::move(executor);
        shared_->address = std::move(address);
        shared_->settings = std::move(settings);
        shared_->limit = limit;
    }
    ~SshTransport() override { shared_->sessions.clear(); } // streams hold theirs

    Task<StreamResult> connect() override { return connect(shared_); }

private:
    struct Connecting {
        explicit Connecting(const boost::asio::any_io_executor& executor) : ended(executor) {}
        AsyncEvent ended;
        std::optional<Result<Handle>> result{};
    };
    struct Shared {
        boost::asio::any_io_executor executor{};
        EngineAddress address{};
        std::optional<SshSettings> settings{};
        milliseconds limit{};
        std::vector<Handle>
            sessions{};          // one; more only where each connection takes one of sshd's few sessions
        bool by_command = false; // sshd forwards no sockets: `docker system dial-stdio` instead
        std::shared_ptr<Connecting> connecting{};
    };
    using SharedPointer = std::shared_ptr<Shared>;

    static Task<StreamResult> connect(SharedPointer shared) {
        for (bool again = true;; again = false) {
            Handle session = usable_session(*shared);
            const bool old = session != nullptr;
            if (!old) {
                auto connected = co_await connect_once(shared);
                if (!connected) {
                    co_return connected.error();
                }
                session = std::move(*connected);
            }
            auto stream = co_await open(shared, session);
            // An old connection may turn out to be dead only now.
            if (stream || !old || !again || !session->broken()) {
                co_return stream;
            }
        }
    }

    static Handle usable_session(Shared& shared) {
        std::erase_if(shared.sessions, [](const Handle& session) { return session->broken().has_value(); });
        const auto found = std::ranges::find_if(shared.sessions, [&](const Handle& session) {
            return !shared.by_command || session->commands_running() < commands_a_session;
        });
        return found == shared.sessions.end() ? nullptr : *found;
    }

    // One at a time; who comes meanwhile shares its result.
    static Task<Result<Handle>> connect_once(SharedPointer shared) {
        while (shared->connecting) {
            const auto running = shared->connecting;
            co_await running->ended.wait();
            if (running->result) {
                co_return *running->result;
            } // else it was cancelled: our turn
        }
        const auto own = std::make_shared<Connecting>(shared->executor);
        shared->connecting = own;
        struct End {
            SharedPointer shared;
            std::shared_ptr<Connecting> connecting;
            ~End() {
                shared->connecting.reset();
                connecting->ended.set();
            }
        };
        const End end{shared, own};
        own->result = co_await establish(*shared);
        if (*own->result) {
            shared->sessions.push_back(**own->result);
        }
        co_return *own->result;
    }

    static Task<Result<Handle>> establish(Shared& shared) {
        if (!shared.settings) {
            auto settings = co_await read_ssh_settings(shared.executor, shared.address);
            if (!settings) {
                co_return settings.error();
            }
            shared.settings = std::move(*settings);
        }
        const auto& settings = *shared.settings;
        const auto where = settings.port.number == 22
                               ? settings.alias
                               : fmt::format("{}:{}", settings.alias, settings.port.number);
        auto& commons = SshCommons::of(shared.executor);
        const auto door = settings.proxy.empty() ? fmt::format("{}:{}", settings.host, settings.port.number)
                                                 : settings.proxy_name;
        const auto permit = co_await commons.knock(shared.executor, door);

        Handle session;
        if (settings.proxy.empty()) {
            EngineAddress address = shared.address;
            address.host = settings.host;
            address.port = settings.port;
            auto socket = co_await connect_tcp(shared.executor, address,
                                               settings.connect_timeout.value_or(shared.limit));
            if (!socket) {
                co_return socket.error();
            }
            session =
                SshSession::create(shared.executor, SshSession::Socket(std::move(**socket)), nullptr, where);
        } else {
            auto proxy = ChildProcess::start(shared.executor, settings.proxy);
            if (!proxy) {
                co_return proxy.error();
            }
            SshSession::Socket socket(std::move((*proxy)->socket()));
            session = SshSession::create(shared.executor, std::move(socket), std::move(*proxy), where);
        }
        const Error silence{ErrorKind::timeout, "",
                            fmt::format("{} did not answer the ssh handshake within {} s", where,
                                        std::chrono::seconds(agreement_limit).count()),
                            settings.proxy.empty()
                                ? "is that an ssh server, and is the machine overloaded?"
                                : "is the machine up? it is reached through " + settings.proxy_name};
        const auto agreed =
            co_await with_timeout(agree_and_check_host(session, settings), agreement_limit, silence);
        if (!agreed) {
            co_return explain_loss(*session, settings, agreed.error());
        }
        const Error no_login{ErrorKind::timeout, "",
                             fmt::format("the login on {} did not come to an end", where),
                             "try `ssh` by hand"};
        const auto in = co_await with_timeout(log_in(session, settings, commons.secrets(shared.executor)),
                                              login_limit, no_login);
        if (!in) {
            co_return in.error();
        }
        session->watch(settings.alive_interval, settings.alive_count);
        co_return session;
    }

    // A server that hangs up at once says nothing about why.
    static Error explain_loss(const SshSession& session, const SshSettings& settings, Error error) {
        if (!session.broken() || *session.broken() != error || !session.farewell().empty()) {
            return error;
        }
        if (session.proxy() != nullptr) {
            const auto complaint = session.proxy()->complaint();
            error.message = fmt::format("no way to {} through {}{}{}", session.where(), settings.proxy_name,
                                        complaint.empty() ? "" : ": ", complaint);
            error.hint = "does `ssh` by hand come through there?";
            return error;
        }
        error.message = fmt::format("{} closed the connection during the ssh handshake", session.where());
        error.hint = "sshd may refuse this machine or be overloaded (on the host: journalctl -u ssh)";
        return error;
    }

    // --- a connection to the engine on a session ---

    static Task<StreamResult> open(SharedPointer shared, Handle session) {
        const auto& path = shared->address.path;
        if (!shared->by_command) {
            auto opened = co_await SshSession::open_socket(
                session, path.empty() ? std::string(default_engine_socket) : path);
            if (!opened) {
                co_return opened.error();
            }
            if (opened->stream) {
                co_return std::move(opened->stream);
            }
            const auto report = co_await ask_about_socket(session, path);
            if (!report) {
                co_return report.error();
            }
            if (!report->command_works) {
                co_return socket_error(*report, session->where(), shared->settings->user, path,
                                       opened->refusal);
            }
            shared->by_command = true;
        }
        auto opened = co_await SshSession::open_command(session, dial_command(path));
        if (!opened) {
            co_return opened.error();
        }
        if (!opened->stream) {
            co_return Error{
                ErrorKind::unreachable, "",
                fmt::format("sshd on {} starts no further command: {}", session->where(), opened->refusal),
                "raise MaxSessions in its sshd_config, or allow `AllowStreamLocalForwarding yes`"};
        }
        co_return std::move(opened->stream);
    }

    static Task<Result<SocketReport>> ask_about_socket(Handle session, std::string path) {
        auto opened = co_await SshSession::open_command(session, ask_about_socket_command(path));
        if (!opened) {
            co_return opened.error();
        }
        if (!opened->stream) {
            co_return SocketReport{};
        }
        const Error late{ErrorKind::timeout, "", fmt::format("{} does not run a command", session->where()),
                         ""};
        co_return co_await with_timeout(read_report(std::move(opened->stream)), command_limit, late);
    }

    static Task<Result<SocketReport>> read_report(std::unique_ptr<ByteStream> stream) {
        std::string output;
        std::array<char, 4096> buffer{};
        while (output.size() < 65536) {
            const auto count = co_await stream->read_some(buffer);
            if (!count || *count == 0) {
                break; // no answer: nothing is known
            }
            output.append(buffer.data(), *count);
        }
        co_return parse_socket_report(output);
    }

    SharedPointer shared_;
};

} // namespace

std::unique_ptr<Transport> make_ssh_transport(const boost::asio::any_io_executor& executor,
                                              EngineAddress address, std::optional<SshSettings> settings,
                                              milliseconds connect_timeout) {
    return std::make_unique<SshTransport>(executor, std::move(address), std::move(settings), connect_timeout);
}

} // namespace dockdist
