// One ssh connection to a host, and the channels on it.
//
// libssh2 is given no socket to play with: it reads what a coroutine here has received, and what it sends is
// taken at once (and held here when the socket is full). So a call of it only ever waits for bytes from the
// peer, never in the middle of a packet of ours, and any other call may be made in the meantime (libssh2
// itself demands that a call that could not send be repeated before any other on its session). Whoever waits
// does so for progress(), and asks libssh2 again; one coroutine receives for all.
#pragma once

#include "client/async/async_event.hpp"
#include "client/async/child_process.hpp"
#include "client/async/limiter.hpp"
#include "client/engine/transport/ssh/link.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <libssh2.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class SshSession final : public SshLink, public std::enable_shared_from_this<SshSession> {
public:
    using Socket = boost::asio::generic::stream_protocol::socket;

    // A connected socket, from which it receives from now on. `where` names the machine in messages. The
    // session ends when the last copy of the handle goes; its coroutines do not count.
    static std::shared_ptr<SshSession> create(boost::asio::any_io_executor executor, Socket socket,
                                              std::unique_ptr<ChildProcess> proxy, std::string where);
    SshSession(boost::asio::any_io_executor executor, Socket socket, std::unique_ptr<ChildProcess> proxy,
               std::string where); // for create()
    ~SshSession() override;

    // Everything on it ends with `error`; the peer is told.
    void end(const Error& error);
    const std::optional<Error>& broken() const override { return broken_; }
    // Set by who gives up where the user's own ssh may get further: what dockdist lacks.
    std::string beyond{};

    LIBSSH2_SESSION* raw() const { return raw_; }
    int descriptor() { return socket_.native_handle(); }
    const boost::asio::any_io_executor& executor() const { return executor_; }
    const std::string& where() const override { return where_; }
    const ChildProcess* proxy() const { return proxy_.get(); }
    // What the server said when it hung up; empty when it said nothing.
    const std::string& farewell() const { return farewell_; }
    // The server's first line, "SSH-2.0-…" when it is one; empty before it has come.
    std::string_view banner() const {
        const char* const line = ::libssh2_session_banner_get(raw_);
        return line == nullptr ? std::string_view() : std::string_view(line);
    }

    // sshd counts a connection among those that have not logged in until a moment after it has said that the
    // login is good; when it answers about a channel, it does so no more. Until then a place at its door is
    // kept.
    void keep_until_opened(Limiter::Permit place) { knocking_ = std::move(place); }

    // Waits until the peer has sent something. Errors: broken().
    Task<Status> progress();
    // Calls `step` of libssh2 until it has another answer than "try again". Errors: broken().
    template <class Step>
    Task<Result<int>> repeat(Step step) {
        while (true) {
            const int code = step();
            if (broken_) {
                co_return *broken_;
            }
            if (code != LIBSSH2_ERROR_EAGAIN) {
                co_return code;
            }
            CO_TRY(co_await progress());
        }
    }
    // Waits until most of what was sent has left. Errors: broken().
    Task<Status> room_to_send();

    // Asks the peer for a sign of life after each `interval` of silence, and ends after `count` without an
    // answer.
    void watch(std::chrono::seconds interval, int count);

    // One by one: libssh2 keeps the state of opening in the session.
    // To a unix socket of the host (direct-streamlocal@openssh.com, OpenSSH's PROTOCOL 2.4).
    Task<Result<Opened>> open_socket(std::shared_ptr<SshLink> self, std::string path) override;
    Task<Result<Opened>> open_command(std::shared_ptr<SshLink> self, std::string command,
                                      CommandPlace place) override;

private:
    friend class SshChannel;
    static ssize_t receive(int socket, void* buffer, std::size_t size, int flags, void** self);
    static ssize_t send(int socket, const void* bytes, std::size_t size, int flags, void** self);
    static void hung_up(LIBSSH2_SESSION* session, int reason, const char* message, int message_size,
                        const char* language, int language_size, void** self);

    struct Opening;
    static Task<Result<Opened>> open(std::shared_ptr<Opening> opening);
    static Task<void> run_opening(std::shared_ptr<Opening> opening);
    static Task<Result<Opened>> do_open(std::shared_ptr<Opening> opening);
    static Task<void> receive_all(std::shared_ptr<SshSession> self);
    static Task<void> send_rest(std::shared_ptr<SshSession> self);
    static Task<void> keep_alive(std::shared_ptr<SshSession> self, std::chrono::seconds interval, int count);
    void acknowledge_at_once();
    void take_in_packets();
    void bury(LIBSSH2_CHANNEL* channel, CommandPlace place);
    void bury_the_dead();
    std::size_t send_now(const char* bytes, std::size_t size);

    boost::asio::any_io_executor executor_;
    Socket socket_;
    std::unique_ptr<ChildProcess> proxy_;
    std::string where_;
    LIBSSH2_SESSION* raw_ = nullptr;
    std::string in_{}; // received, and not yet taken by libssh2 from in_at_ on
    std::size_t in_at_ = 0;
    std::string out_{};    // what the socket had no room for
    bool sending_ = false; // send_rest runs
    std::string farewell_{};
    std::optional<Error> broken_{};
    AsyncEvent progress_, taken_, room_;
    Limiter opening_;
    Limiter::Permit knocking_{};
    boost::asio::steady_timer alive_;
    bool heard_ = false;                       // since the last look of keep_alive
    std::vector<LIBSSH2_CHANNEL*> channels_{}; // open
    struct Dying {
        LIBSSH2_CHANNEL* channel;
        CommandPlace place;
    };
    std::vector<Dying> dying_{}; // closed by us, waiting for the peer
};

} // namespace dockdist
