#include "node/boot/store_keeper.hpp"

#include "node/boot/init_channel.hpp"
#include "node/system/clean_environment.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/program.hpp"
#include "node/system/store.hpp"

#include <poll.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace dockdist::node {
namespace {

constexpr std::int64_t look_every_ms = 10000;
constexpr std::int64_t prune_every_ms = 600000;
constexpr std::int64_t await_limit_ms = 20000; // engines KILL 10 s after their TERM
constexpr int await_pause_ms = 100;
constexpr std::int64_t prune_full_every_ms = 60000; // where it did not help, others fill the disk

} // namespace

// The container that the node had until now is stopped when this one has started, and may take its time.
Status await_store() {
    const auto deadline = monotonic_ms() + await_limit_ms;
    while (true) {
        const auto taken = ask_init({{"do", "store"}});
        if (taken) {
            return ok;
        }
        auto error = taken.error();
        if (error.kind != ErrorKind::busy) {
            return error;
        }
        if (monotonic_ms() > deadline) {
            error.kind = ErrorKind::conflict;
            error.message += ", and has not let go of it for " + std::to_string(await_limit_ms / 1000) + " s";
            error.hint = "on this host `docker ps --filter volume=dockdist-store-CLUSTER_NODE` (or `podman`) "
                         "names it: stop it, then `dockdist up`";
            return error;
        }
        (void)::poll(nullptr, 0, await_pause_ms);
    }
}

Status StoreKeeper::take() {
    if (store_.open()) {
        return ok;
    }
    auto taken = take_store();
    TRY(taken);
    store_ = std::move(*taken);
    look();
    return ok;
}

void StoreKeeper::look() {
    const auto now = loop_.now_ms();
    if (pruning_ == 0 && (now >= next_ms_ || (now >= next_if_full_ms_ && disk_is_nearly_full()))) {
        next_ms_ = now + prune_every_ms;
        next_if_full_ms_ = now + prune_full_every_ms;
        prune();
    }
    loop_.after(look_every_ms, [this] { look(); });
}

// A program of its own: PID 1 waits for no disk.
void StoreKeeper::prune() {
    const std::vector<std::string> argv{"dockdist-init", "job", "prune"};
    auto environment = clean_environment();
    pruning_ = ::fork();
    if (pruning_ == 0) {
        reset_signals();
        ::setsid();
        ::_exit(exec_path(paths().own, argv, environment));
    }
    pruning_ = pruning_ < 0 ? 0 : pruning_;
}

void StoreKeeper::on_exit(pid_t pid) {
    if (pid == pruning_) {
        pruning_ = 0;
    }
}

} // namespace dockdist::node
