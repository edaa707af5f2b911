#include "client/async/shared_run.hpp"
#include "client/async/with_timeout.hpp"
#include "client/engine/transport/ssh/establish.hpp"
#include "client/engine/transport/ssh/remote_socket.hpp"
#include "client/engine/transport/ssh/user_ssh.hpp"
#include "client/engine/transport/ssh/user_ssh_words.hpp"
#include "client/engine/transport/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using StreamResult = Result<std::unique_ptr<ByteStream>>;
using LinkHandle = std::shared_ptr<SshLink>;

constexpr auto command_limit = 20s;
constexpr int commands_a_session = 8; // sshd's MaxSessions is 10 by default; sockets do not count

class SshTransport final : public Transport {
public:
    SshTransport(boost::asio::any_io_executor executor, EngineAddress address,
                 std::optional<SshSettings> settings, milliseconds limit)
        : shared_(std::make_shared<Shared>(std::move(executor), std::move(address), std::move(settings),
                                           limit)) {}
    ~SshTransport() override { shared_->links.clear(); } // streams hold their sessions

    Task<StreamResult> connect() override { return connect(shared_); }
    std::string way() const override {
        const auto& why = shared_->open.empty() ? shared_->beyond : shared_->open;
        return why.empty() ? "" : "your own ssh, since " + why;
    }

private:
    struct Link {
        LinkHandle session{};
        int places = commands_a_session; // for commands at a time, as far as is known
    };
    struct Shared {
        Shared(boost::asio::any_io_executor where, EngineAddress what, std::optional<SshSettings> how,
               milliseconds longest)
            : executor(std::move(where)), address(std::move(what)), settings(std::move(how)), limit(longest),
              connecting(executor), asking(executor) {}
        boost::asio::any_io_executor executor;
        EngineAddress address;
        std::optional<SshSettings> settings;
        milliseconds limit;
        std::vector<Link> links{}; // one; more only where each connection takes one of sshd's few sessions
        std::string beyond{};      // not empty: by the user's own ssh, and why
        std::string open{};        // the same, by a connection that the user has open
        bool by_command = false;   // sshd forwards no sockets: `docker system dial-stdio` instead
        SharedRun<Result<LinkHandle>> connecting;
        SharedRun<Result<SocketReport>> asking;
    };
    using SharedPointer = std::shared_ptr<Shared>;

    static Task<StreamResult> connect(SharedPointer shared) {
        for (bool again = true;; again = false) {
            std::erase_if(shared->links, [](const Link& link) { return link.session->broken().has_value(); });
            const bool old = !shared->links.empty();
            const auto session =
                old ? Result<LinkHandle>(shared->links.front().session) : co_await one_more_session(shared);
            CO_TRY(session);
            auto stream = shared->by_command ? co_await dial(shared) : co_await open_socket(shared, *session);
            // An old connection may turn out to be dead only now.
            if (stream || !old || !again || !(*session)->broken()) {
                co_return stream;
            }
        }
    }

    static Task<Result<LinkHandle>> one_more_session(SharedPointer shared) {
        return shared->connecting.join([shared] { return establish(shared); });
    }

    static Task<Result<LinkHandle>> establish(SharedPointer shared) {
        if (!shared->settings) {
            auto settings = co_await read_ssh_settings(shared->executor, shared->address);
            CO_TRY(settings);
            shared->settings = std::move(*settings);
        }
        auto session = co_await log_in(shared);
        if (session) {
            shared->links.push_back({*session});
        }
        co_return session;
    }

    // By the way that the user's configuration leaves, or the server.
    static Task<Result<LinkHandle>> log_in(SharedPointer shared) {
        const auto& settings = *shared->settings;
        shared->open.clear();
        if (shared->links.empty()) { // else it has no room
            auto open = open_user_ssh(shared->executor, settings);
            if (!open || *open) {
                shared->open = "a connection of yours is open (" + settings.control_path + ")";
                co_return open;
            }
        }
        std::optional<Error> refused;
        if (shared->beyond.empty()) {
            const auto keys =
                std::make_shared<const UserKeys>(co_await find_user_keys(shared->executor, settings));
            shared->beyond = !settings.beyond.empty() ? "your configuration says " + settings.beyond
                             : keys->only_by_ssh      ? keys->left_out.front()
                                                      : lacking(settings.algorithms);
            if (shared->beyond.empty()) {
                auto session = co_await establish_ssh(shared->executor, shared->address, settings, keys,
                                                      shared->limit, shared->beyond);
                if (session || shared->beyond.empty()) {
                    co_return session ? Result<LinkHandle>(std::move(*session))
                                      : Result<LinkHandle>(session.error());
                }
                refused = session.error();
            }
        }
        auto session = co_await start_user_ssh(shared->executor, shared->address, settings, shared->beyond,
                                               shared->limit);
        if (!session && refused && !refused->hint.empty()) {
            refused->message += "; " + session.error().message;
            co_return *refused;
        }
        if (!session && session.error().kind == ErrorKind::not_found) {
            co_return refused ? *refused
                              : Error{ErrorKind::config, "",
                                      "only ssh itself reaches it, and there is none here: " + shared->beyond,
                                      "install OpenSSH's client"};
        }
        co_return session;
    }

    // --- a connection to the engine on a session ---

    static Task<StreamResult> open_socket(SharedPointer shared, LinkHandle session) {
        const auto path = shared->address.path;
        auto opened =
            co_await session->open_socket(session, path.empty() ? std::string(default_engine_socket) : path);
        CO_TRY(opened);
        if (opened->stream) {
            co_return std::move(opened->stream);
        }
        // A key may be there for that command alone, so it is asked for before all others.
        auto stream = co_await dial(shared);
        if (stream || session->broken()) {
            shared->by_command = stream.has_value();
            co_return stream;
        }
        const auto report =
            co_await shared->asking.join([session, path] { return ask_about_socket(session, path); });
        CO_TRY(report);
        co_return report->command_works
            ? stream.error()
            : socket_error(*report, session->where(), shared->settings->user, path, opened->refusal);
    }

    // Where sessions are full, one more is made: nobody waits for the end of another one's stream.
    static Task<StreamResult> dial(SharedPointer shared) {
        while (true) {
            const auto link = std::ranges::find_if(shared->links, [](const Link& candidate) {
                return !candidate.session->broken() &&
                       candidate.session->commands_running() < candidate.places;
            });
            if (link == shared->links.end()) {
                CO_TRY(co_await one_more_session(shared));
                continue;
            }
            const auto session = link->session;
            const auto place = session->place_for_command();
            auto opened = co_await session->open_command(session, dial_command(shared->address.path), place);
            CO_TRY(opened);
            if (opened->stream) {
                const Error late{ErrorKind::timeout, "",
                                 fmt::format("no engine answers `{}` on {}",
                                             dial_command(shared->address.path), session->where()),
                                 "try `ssh` by hand"};
                auto stream =
                    co_await with_timeout(answering(std::move(opened->stream)), command_limit, late);
                if (stream || !is_crowded(stream.error().message)) {
                    co_return stream;
                }
                opened->refusal = stream.error().message;
            }
            if (session->commands_running() == 1) { // ours
                co_return Error{
                    ErrorKind::unreachable, "",
                    fmt::format("sshd on {} starts no command: {}", session->where(), opened->refusal),
                    "raise MaxSessions in its sshd_config, or allow `AllowStreamLocalForwarding yes`"};
            }
            allow_fewer(*shared, session);
        }
    }

    // This sshd has a lower MaxSessions, or has not yet noticed the end of a command.
    static void allow_fewer(Shared& shared, const LinkHandle& session) {
        for (auto& link : shared.links) {
            if (link.session == session) {
                link.places = std::max(link.places - 1, 1);
            }
        }
    }

    static Task<Result<SocketReport>> ask_about_socket(LinkHandle session, std::string path) {
        auto opened = co_await session->open_command(session, ask_about_socket_command(path),
                                                     session->place_for_command());
        CO_TRY(opened);
        if (!opened->stream) {
            co_return SocketReport{};
        }
        // Another command that stands in its place ends with its input.
        (void)co_await opened->stream->shutdown_send();
        const Error late{ErrorKind::timeout, "", fmt::format("{} does not run a command", session->where()),
                         "try `ssh` by hand"};
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
