// Bringing the files of a tree to this host: a few at a time, in the order of the list, from the nearest
// relay that gives them, and else from the client.
#pragma once

#include "node/relay/relay_channel.hpp"
#include "node/relay/relay_client.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace dockdist::node {

// Numbers that follow each other: one large file, or some small ones, which are asked for at once.
struct FileRun {
    int first = 0, count = 0;
    bool operator==(const FileRun&) const = default;
};
std::vector<FileRun> make_runs(const std::vector<wire::RelayFile>& files);

class TreeFetcher {
public:
    TreeFetcher(RelayStore& store, RelayClient& client) : store_(store), client_(client) {}

    // Begins; the client is told what becomes of it, and the end.
    void begin(std::vector<wire::RelayPair> upstreams, std::vector<FileRun> runs);

private:
    void work();
    void tell_progress();
    void fetch(const FileRun& run);
    void fetch_all_from(const wire::RelayPair& upstream, const FileRun& run);
    // How one relay's answer ended.
    struct Answer {
        bool reached = false;
        bool any = false; // something came
        int stopped = -1; // the file of which no more came; -1: none
    };
    Answer fetch_from(const wire::RelayPair& upstream, const wire::RelayRequest& left);
    // The next ones of the run that are to come, but those in `skipped`.
    wire::RelayRequest left_of(const FileRun& run, const std::set<int>& skipped = {});
    void lost(int number, const Error& error);

    RelayStore& store_;
    RelayClient& client_;
    std::vector<wire::RelayPair> upstreams_{};
    std::vector<FileRun> runs_{};
    std::atomic<std::size_t> next_ = 0;
    std::atomic<int> at_work_ = 0;
    std::mutex mutex_{};
    std::set<int> lost_{};
};

} // namespace dockdist::node
