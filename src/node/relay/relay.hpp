// A relay at work, from its opening to the end of its input.
#pragma once

#include "node/relay/relay_fetcher.hpp"
#include "node/relay/relay_guests.hpp"
#include "node/relay/tree_fetcher.hpp"
#include "node/relay/tree_files.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

// Tells it on stderr; 1.
int relay_failed(const std::string& message);

class Relay {
public:
    // `folder`: of a tree. Its threads may be anywhere when run() ends: it is never destroyed.
    Relay(wire::RelayOpening opening, RelayInput& input, Folder folder)
        : opening_(std::move(opening)), input_(input), files_(make_files(std::move(folder))) {}
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    // The exit code. What goes wrong is told on stderr.
    int run();

private:
    std::unique_ptr<BlobFiles> make_files(Folder folder);
    Status begin_tree(std::vector<wire::RelayPair> upstreams);
    void have_fetched(const std::string& id);
    void keep_doors();

    wire::RelayOpening opening_;
    RelayInput& input_;
    TreeFiles* tree_ = nullptr; // files_, where it is a tree's
    std::unique_ptr<BlobFiles> files_;
    RelayStore store_{*files_, opening_.most_ahead};
    DiskComplaint disk_{};
    RelayClient client_{store_, disk_, opening_.tree};
    RelayFetcher image_fetcher_{store_, client_, disk_};
    TreeFetcher tree_fetcher_{store_, client_};
    std::string authorization_ = relay_authorization(opening_.token);
    RelayGuests guests_{store_, client_, [this](const std::string& id) { have_fetched(id); }, authorization_};
    RelayStranger::Keys keys_{};
    Fd engine_{}, relays_{};
};

} // namespace dockdist::node
