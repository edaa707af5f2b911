#include "node/relay/relay.hpp"

#include "node/relay/relay_socket.hpp"
#include "node/relay/relay_thread.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"

#include <algorithm>
#include <optional>
#include <sys/resource.h>
#include <utility>

namespace dockdist::node {
namespace {

// Strangers at both doors leave descriptors for the image and for those who were let in.
AdmissionLimits door_limits() {
    AdmissionLimits limits;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        limits.strangers = std::clamp<std::size_t>(files.rlim_cur / 8, 4, limits.strangers);
    }
    return limits;
}

} // namespace

int relay_failed(const std::string& message) {
    (void)write_all(STDERR_FILENO, "dockdist-init: " + message + "\n");
    return 1;
}

int Relay::run() {
    wire::RelayMessage listening;
    if (tree_ == nullptr) {
        engine_ = listen_on("127.0.0.1", listening.engine_port);
        if (!engine_.open()) {
            return relay_failed("cannot listen on 127.0.0.1");
        }
    }
    auto relays = listen_for_peers(opening_, listening);
    if (!relays) {
        return relay_failed(relays.error().message + ": " + relays.error().hint);
    }
    relays_ = std::move(*relays);
    client_.tell(listening);
    const auto line = input_.line();
    auto peers = line ? wire::parse_relay_peers(*line) : Result<wire::RelayPeers>(Error{});
    if (!peers) {
        return 1;
    }
    for (const auto& pair : peers->downstreams) {
        keys_[pair.asking] = relay_key(pair.key);
    }
    if (tree_ == nullptr) {
        image_fetcher_.begin(std::move(peers->upstreams));
    } else if (const auto begun = begin_tree(std::move(peers->upstreams)); !begun) {
        return relay_failed(begun.error().message);
    }
    if (!start_thread([this] { keep_doors(); })) {
        return relay_failed("cannot start a thread");
    }
    client_.listen(input_);
    return 0;
}

std::unique_ptr<BlobFiles> Relay::make_files(Folder folder) {
    if (!opening_.tree) {
        return std::make_unique<ImageFiles>(paths().blobs);
    }
    std::unique_ptr<TreeFiles> tree;
    if (opening_.origin) {
        tree = std::make_unique<OriginFiles>(std::move(folder), [this](const wire::RelayDigest& digest) {
            client_.tell({.type = wire::RelayMessage::Type::digest, .digest = digest});
        });
    } else {
        tree = std::make_unique<TargetFiles>(std::move(folder),
                                             [this](int file) { return client_.digest_of(file); });
    }
    tree_ = tree.get();
    return tree;
}

// The list comes first.
Status Relay::begin_tree(std::vector<wire::RelayPair> upstreams) {
    std::vector<wire::RelayFile> all;
    for (bool last = false; !last;) {
        const auto line = input_.line();
        auto files = line ? wire::parse_relay_files(*line)
                          : Result<wire::RelayFiles>(Error{.message = "no list of files came"});
        TRY(files);
        for (auto& file : files->files) {
            store_.add(wire::relay_blob_id(file.number), file.size, !opening_.origin);
            tree_->add(file);
            all.push_back(std::move(file));
        }
        last = files->last;
    }
    if (!opening_.origin) {
        tree_fetcher_.begin(std::move(upstreams), make_runs(all));
    }
    return ok;
}

// A tree that is here is read as it is asked for; one that comes is being fetched from the first on.
void Relay::have_fetched(const std::string& id) {
    if (tree_ == nullptr) {
        image_fetcher_.have_fetched(id);
    } else if (store_.claim(id)) {
        const auto read = [this, id] {
            (void)store_.begin(id); // the client is told of it
            store_.give_up(id);
        };
        if (!opening_.origin || !start_thread(read)) {
            store_.give_up(id);
        }
    }
}

void Relay::keep_doors() {
    Loop loop;
    const auto limits = door_limits();
    std::optional<RelayAdmission> engine;
    std::optional<RelayAdmission> relays;
    if (engine_.open()) {
        engine.emplace(
            loop, std::move(engine_), limits,
            [this] { return std::make_unique<EngineStranger>(authorization_); },
            [this](Fd connection, const std::unique_ptr<Stranger>& stranger) {
                guests_.let_engine_in(std::move(connection), static_cast<EngineStranger&>(*stranger));
            });
    }
    if (relays_.open()) {
        relays.emplace(
            loop, std::move(relays_), limits, [this] { return std::make_unique<RelayStranger>(keys_); },
            [this](Fd connection, const std::unique_ptr<Stranger>& stranger) {
                guests_.let_relay_in(std::move(connection), static_cast<RelayStranger&>(*stranger));
            });
    }
    loop.run();
}

} // namespace dockdist::node
