// Serving those who were let in: the host's engine by HTTP, the relays behind on encrypted connections. A
// thread for each.
#pragma once

#include "node/relay/relay_channel.hpp"
#include "node/relay/relay_client.hpp"
#include "node/relay/relay_http.hpp"

#include <atomic>
#include <functional>
#include <string>

namespace dockdist::node {

class RelayGuests {
public:
    // Begins to fetch a blob unless that was done.
    using HaveFetched = std::function<void(const std::string& id)>;
    RelayGuests(RelayStore& store, RelayClient& client, HaveFetched have_fetched, std::string authorization)
        : store_(store), client_(client), have_fetched_(std::move(have_fetched)),
          authorization_(std::move(authorization)) {}

    void let_engine_in(Fd connection, EngineStranger& stranger);
    void let_relay_in(Fd connection, RelayStranger& stranger);

private:
    template <class Serve>
    void let_in(Serve serve);
    void serve_engine(int fd, RelayHttpRequest request, std::string rest);
    bool answer(int fd, const RelayHttpRequest& request);
    bool give_blob(int fd, const RelayHttpRequest& request, const std::string& digest);

    Status answer(RelayAnswer& to, const wire::RelayRequest& request);
    Status give_ahead(RelayAnswer& to);
    Status give_files(RelayAnswer& to, const wire::RelayRequest& request);
    Status give_blob(RelayAnswer& to, const std::string& id, std::int64_t offset);

    RelayStore& store_;
    RelayClient& client_;
    HaveFetched have_fetched_;
    std::string authorization_;
    std::atomic<int> count_ = 0;
};

} // namespace dockdist::node
