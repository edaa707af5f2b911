// One connection to be made, beside a loop: to a host as the node sees it, by whichever of its addresses
// answers; or to a unix socket of its own.
#pragma once

#include "node/system/helper_run.hpp"
#include "node/system/loop.hpp"
#include "shared/core/fd.hpp"
#include "shared/wire/tunnel.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

inline constexpr std::int64_t connect_limit_ms = 10000; // for each address, and for a name's

class Connector {
public:
    // A connected, non-blocking socket; or why there is none, with no descriptor.
    struct Outcome {
        Fd socket{};
        wire::TunnelFailure failure{};
    };
    // Of a path, with `own_peers`: only where this process' own user listens. `when_done` is called from the
    // loop, once; it may destroy this object.
    Connector(Loop& loop, wire::TunnelTarget target, bool own_peers, std::function<void(Outcome)> when_done);
    ~Connector();
    Connector(const Connector&) = delete;
    Connector& operator=(const Connector&) = delete;

private:
    void begin();
    void connect_path();
    void resolve();
    void take_names(const Finished& answer);
    void try_next();
    void look();
    void tell(Outcome outcome);
    void fail(wire::TunnelFailure::Kind kind, std::string message);

    Loop& loop_;
    wire::TunnelTarget target_;
    std::function<void(Outcome)> when_done_;
    std::vector<std::string> addresses_{};
    std::size_t next_ = 0;
    std::int64_t until_ms_ = 0; // a path's limit
    bool own_peers_;
    int cause_ = 0; // errno of the first address
    Fd socket_{};
    std::unique_ptr<HelperRun> getent_{};
    Loop::Timer timer_ = 0;
};

} // namespace dockdist::node
