// One client at a time changes a cluster. The lock is a volume of a fixed name on the cluster's first host:
// an engine makes it for the first who asks, and shows everybody else that one's labels. A volume can be
// removed by its name alone, so whoever takes a stale one's place does it under a container of the same name,
// which is made atomically too, removed by its id, and never started. Such a container was the lock itself in
// a dockdist of before.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/plan/observed.hpp"
#include "client/spec/cluster_spec.hpp"

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

// kind locked, naming the holder and since when, unless the lock is stale (then nothing). `lock`: its labels;
// `age`: by the host's own clock.
std::optional<Error> locked_by(const Labels& lock, const std::string& host, std::chrono::seconds age);

// How old something is, by its host's clock; zero when the engine told no time.
std::chrono::seconds age_of(std::int64_t created_s, const std::string& system_time);

struct LockRequest {
    ClusterName cluster{};
    ImageRef image{}; // any image that the host has
    std::string attempt{};
    std::string origin{};
    std::string where{}; // the host, for messages
    bool break_lock = false;
};

// Takes the lock, past a stale one. One round trip when it is free.
Task<Status> take_lock(ContainerEngine& engine, LockRequest request);
// Gives it back, where it is that attempt's still.
Task<void> release_lock(ContainerEngine& engine, ClusterName cluster, std::string attempt);

} // namespace dockdist
