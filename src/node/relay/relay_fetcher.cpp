#include "node/relay/relay_fetcher.hpp"

#include "node/relay/relay_thread.hpp"

namespace dockdist::node {
namespace {

constexpr std::size_t longest_piece_line = 1024;

}

void RelayFetcher::begin(std::vector<wire::RelayPair> upstreams) {
    upstreams_ = std::move(upstreams);
    if (!upstreams_.empty()) {
        (void)start_thread([this] { take_ahead_of_nearest(); }); // else it is fetched later
    }
}

void RelayFetcher::take_ahead_of_nearest() {
    auto question = RelayQuestion::ask(upstreams_.front(), {}, {});
    if (!question) {
        return;
    }
    const auto more = [&] {
        auto heard = question->hear();
        return heard ? std::move(*heard) : std::string();
    };
    RelayInput from(more, longest_piece_line);
    while (const auto line = from.line()) {
        const auto piece = wire::parse_relay_piece(*line);
        if (!piece || !piece->digest.empty() || !take_ahead(store_, from, *piece)) {
            return;
        }
    }
}

void RelayFetcher::fetch_from(const wire::RelayPair& upstream, const std::string& digest) {
    auto question = RelayQuestion::ask(upstream, {.digest = digest, .offset = store_.have(digest)}, {});
    while (question && !store_.whole(digest)) {
        const auto bytes = question->hear();
        if (!bytes || bytes->empty() || !disk_.keep(store_, digest, *bytes)) {
            return;
        }
    }
}

void RelayFetcher::fetch(const std::string& digest) {
    for (const auto& upstream : upstreams_) {
        if (store_.whole(digest)) {
            break;
        }
        fetch_from(upstream, digest);
    }
    if (!store_.whole(digest)) {
        client_.fetch({.digest = digest, .offset = store_.have(digest)});
    }
    store_.give_up(digest);
}

void RelayFetcher::have_fetched(const std::string& digest) {
    if (store_.claim(digest) && !start_thread([this, digest] { fetch(digest); })) {
        store_.give_up(digest);
    }
}

} // namespace dockdist::node
