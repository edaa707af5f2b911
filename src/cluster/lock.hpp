// One client at a time changes a cluster. The lock is a container of a fixed name on the cluster's first
// host: creating it is atomic on an engine, and everybody who can reach the host can see it. It is never
// started.
#pragma once

#include "container/container_engine.hpp"
#include "plan/observed.hpp"
#include "spec/cluster_spec.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace dockdist {

// Who holds a lock: enough to say it to a person, and to see on the same machine that the holder is gone.
struct LockHolder {
    std::string user{};
    std::string machine{}; // host name
    std::string boot{};    // boot id of the machine: a pid means nothing after a reboot
    int pid = 0;
    std::string process_start{}; // of the pid, as /proc has it: a pid may be used again
    bool operator==(const LockHolder&) const = default;
};
LockHolder this_process();
std::string to_label(const LockHolder& holder);
std::optional<LockHolder> parse_holder(const std::string& label);

// Whether the holder can still be at work. Elsewhere than on its own machine that cannot be known: true.
bool may_be_alive(const LockHolder& holder, const LockHolder& us);

// A lock this old is stale, whoever holds it: nothing that holds it takes that long.
inline constexpr std::chrono::minutes lock_lifetime{15};

// kind locked, naming the holder and since when, unless the lock is stale (then nothing). `age`: by the
// host's own clock.
std::optional<Error> locked_by(const ContainerSummary& lock, const std::string& host,
                               std::chrono::seconds age);

// How old a container is, by its host's clock; zero when the engine told no time.
std::chrono::seconds age_of(const ContainerSummary& container, const std::string& system_time);

struct LockRequest {
    ClusterName cluster{};
    ImageRef image{}; // any image that the host has
    std::string attempt{};
    std::string origin{};
    std::string where{}; // the host, for messages
    bool break_lock = false;
};

// Takes the lock, past a stale one. Two round trips at most when it is free.
Task<Result<ContainerId>> take_lock(ContainerEngine& engine, LockRequest request);

} // namespace dockdist
