// The client's end of one tunnel (shared/wire/tunnel.hpp): connections of this machine over one stream to a
// program elsewhere, an exec in a node or a step on a host.
#pragma once

#include "client/async/async_event.hpp"
#include "client/container/container_engine.hpp"
#include "shared/tunnel/tunnel_channels.hpp"
#include "shared/wire/unread_bytes.hpp"

#include <boost/asio/generic/stream_protocol.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct TunnelTimes {
    std::chrono::milliseconds lease{30'000}; // of silence, after which either side gives the other up
    std::chrono::milliseconds ping{5'000};   // between two pings
};

// Owned by shared pointers: who carries a connection keeps it.
class TunnelClient : public std::enable_shared_from_this<TunnelClient> {
public:
    using LocalSocket = boost::asio::generic::stream_protocol::socket;

    explicit TunnelClient(const boost::asio::any_io_executor& executor, TunnelTimes times = {});

    // Once: speaks with the other end until its output ends, with ok, or not even that: what the stream says,
    // timeout (it is silent), protocol (of which another try is no better). `on_ready` is called when it can
    // carry. All connections are closed then, in the way of one that breaks off.
    Task<Status> run(ExecStream& stream, std::function<void()> on_ready);
    const std::string& complaint() const { return err_; } // what the other end has written to stderr, 8 KiB
    const TunnelTimes& times() const { return times_; }
    bool ready() const { return ready_; }
    std::size_t closed() const { return closed_; } // connections, by the tunnel's end

    // Connects to `target` there and passes on what either side says, until both have ended or the tunnel
    // has. `socket`: of TCP, or a local one. `on_answer`: why it is not connected; nothing: it is. Cancelling
    // gives the connection up.
    Task<void> carry(LocalSocket socket, wire::TunnelTarget target,
                     std::function<void(const std::optional<wire::TunnelFailure>&)> on_answer);

    // Ends every connection.
    void give_up_all();

private:
    struct Connection {
        Connection(const boost::asio::any_io_executor& executor, LocalSocket taken)
            : socket(std::move(taken)), changed(executor) {}
        LocalSocket socket;
        AsyncEvent changed; // something of the below, or the window
        wire::UnreadBytes incoming{};
        std::optional<wire::TunnelFailure> failure{};
        ChannelId id = 0;
        bool answered = false;
        bool end_came = false;
        bool over = false;
    };

    Task<Status> read_stream(ExecStream& stream, std::function<void()> on_ready);
    Task<Error> write_stream(ExecStream& stream);
    Task<Error> watch_silence();
    void take(const TunnelChannels::Event& event);
    Task<Status> read_local(Connection& connection);
    Task<Status> write_local(Connection& connection);
    void pass_on(Connection& connection);
    void give_up(Connection& connection);

    boost::asio::any_io_executor executor_;
    TunnelTimes times_;
    TunnelChannels channels_{TunnelChannels::Side::client};
    std::map<ChannelId, std::shared_ptr<Connection>> connections_{};
    AsyncEvent to_send_;
    AsyncEvent sent_;
    std::vector<char> buffer_;
    std::size_t unpinged_ = 0; // bytes of connections since a ping
    std::string err_{};        // of the node's end
    std::size_t closed_ = 0;
    bool ready_ = false;
    bool heard_ = false; // something of the node, in this pause
};

} // namespace dockdist
