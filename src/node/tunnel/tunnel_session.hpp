// The node's end of a tunnel (shared/wire/tunnel.hpp): `dockdist-init tunnel ASK`.
#pragma once

#include "node/system/loop.hpp"
#include "node/tunnel/connector.hpp"
#include "shared/tunnel/tunnel_channels.hpp"
#include "shared/wire/unread_bytes.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// Connects for the client on the other side of `input` and `output`, until that is gone: its end of `input`,
// or nothing of it for the lease. Then every connection ends, whose end had not come in the way of one that
// breaks off.
class TunnelSession {
public:
    TunnelSession(Loop& loop, int input, int output, wire::TunnelAsk ask);
    ~TunnelSession();
    TunnelSession(const TunnelSession&) = delete;
    TunnelSession& operator=(const TunnelSession&) = delete;

    int run(); // the exit code

private:
    struct Connection {
        std::unique_ptr<Connector> connector{}; // until there is a socket
        Fd socket{};
        wire::UnreadBytes incoming{}; // for the socket
        bool end_came = false;        // nothing more comes for it
        bool sends = false;           // its end has not been read
        bool shut = false;            // our end was told to it
        bool watched = false;
    };
    using Connections = std::map<ChannelId, Connection>;

    void read_client();
    void take(const TunnelChannels::Event& event);
    void take_data(ChannelId id, Connection& connection, std::string_view bytes);
    void open(ChannelId id, wire::TunnelTarget target);
    void connected(ChannelId id, Connector::Outcome outcome);
    void on_socket(ChannelId id, short happened);
    bool read_socket(ChannelId id, Connection& connection);
    bool write_socket(ChannelId id, Connection& connection);
    void update(ChannelId id, Connection& connection);
    void update_all();
    void give_up(ChannelId id);
    void close(ChannelId id);
    void write_output();
    std::size_t waiting() const; // bytes for the client
    void after_round();
    void watch_lease();
    void finish(int code);

    Loop& loop_;
    int input_, output_;
    wire::TunnelAsk ask_;
    std::int64_t last_heard_ms_ = 0;
    TunnelChannels channels_{TunnelChannels::Side::node};
    Connections connections_{};
    std::vector<std::unique_ptr<Connector>> done_{}; // not to be destroyed while they call
    std::vector<char> buffer_;
    std::string sending_{}; // taken from the channels, and partly written
    std::size_t sent_ = 0;  // of it
    int code_ = 0;
    bool full_ = false; // so much waits for the client that no socket is read
};

// In a container it runs as the user of jobs and sessions: what a tunnel may reach is what they may. The exit
// code.
int run_tunnel(const std::string& ask);

} // namespace dockdist::node
