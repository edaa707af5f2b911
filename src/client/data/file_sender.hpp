// The files of a tree on their way to hosts, by the chain of their relays: this machine tells each relay
// which ones it lacks, and whom to ask for them, and passes on what the digest of each is. It gives contents
// only where they are here, and then to the first relay.
#pragma once

#include "client/async/async_event.hpp"
#include "client/relay/relay_host.hpp"
#include "client/report/step.hpp"
#include "client/sync/synchroniser.hpp"
#include "shared/tree/folder.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// A relay whose container is there, and as whom it is to run.
struct FileRelay {
    RelayHost* relay = nullptr;
    std::string user{};         // "UID:GID"
    SyncedNode* node = nullptr; // what is to come to it, and where its errors go; of the origin nullptr
};

class FileSender {
public:
    // All outlive it. `origin`: the relay where the tree is; without a relay it is in tree.path here.
    FileSender(const boost::asio::any_io_executor& executor, const LocalTree& tree, FileRelay origin,
               std::vector<FileRelay> targets, Reporter& reporter);

    Task<void> run();

private:
    struct Lane {
        Lane(const boost::asio::any_io_executor& executor, FileRelay relay)
            : to(std::move(relay)), changed(executor) {}
        FileRelay to;
        AsyncEvent changed;    // there is something to write
        std::string pending{}; // lines that go before anything else
        std::deque<wire::RelayRequest> wants{};
        bool done = false;      // nothing more comes to it, or it is gone
        std::size_t errors = 0; // of its own files
        std::optional<Step> step{};
        bool is_origin() const { return to.node == nullptr; }
    };

    Task<void> begin_all();
    Task<Status> read(Lane& lane);
    Task<Status> read_from(Lane& lane);
    Task<Status> write(Lane& lane);
    Task<Status> give(Lane& lane, const wire::RelayRequest& want);
    Task<Status> give_file(Lane& lane, Folder& folder, int number, std::int64_t offset);
    Status take(Lane& lane, wire::RelayMessage message);
    void tell_digest(int number, std::string digest);
    void fail(Lane& lane, Error error);
    void end(Lane& lane);
    std::string list_for(const Lane& lane) const;
    bool knows(int number) const { return number >= 0 && static_cast<std::size_t>(number) < files_.size(); }
    const wire::TreeEntry& file(int number) const {
        return tree_.entries[files_[static_cast<std::size_t>(number)]];
    }

    const LocalTree& tree_;
    Reporter& reporter_;
    std::vector<std::unique_ptr<Lane>> lanes_{};        // the origin first, where it is a host
    std::vector<std::uint32_t> files_{};                // entries of the tree, by number
    std::vector<std::optional<std::string>> digests_{}; // by number
    bool ended_ = false;                                // every target is done
};

} // namespace dockdist
