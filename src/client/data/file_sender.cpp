#include "client/data/file_sender.hpp"

#include "client/async/run_all.hpp"
#include "client/relay/relay_peers.hpp"
#include "shared/core/text.hpp"
#include "shared/digest/sha256.hpp"
#include "shared/tree/read_tree.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <set>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr std::size_t piece_size = 256 << 10;
constexpr std::size_t files_a_line = 500;
constexpr std::size_t most_wants = 16;       // a relay waits for each, with few workers
constexpr std::size_t most_file_errors = 10; // of one host; the rest is counted

} // namespace

FileSender::FileSender(const boost::asio::any_io_executor& executor, const LocalTree& tree, FileRelay origin,
                       std::vector<FileRelay> targets, Reporter& reporter)
    : tree_(tree), reporter_(reporter) {
    if (origin.relay != nullptr) {
        lanes_.push_back(std::make_unique<Lane>(executor, std::move(origin)));
    }
    std::set<std::uint32_t> wanted;
    for (auto& target : targets) {
        for (const auto& action : target.node->plan.actions) {
            if (action.kind == SyncAction::Kind::send &&
                tree.entries[action.entry].type == wire::TreeEntry::Type::file) {
                wanted.insert(action.entry);
            }
        }
        lanes_.push_back(std::make_unique<Lane>(executor, std::move(target)));
    }
    files_.assign(wanted.begin(), wanted.end());
    digests_.resize(files_.size());
}

// What the origin fails with is an error of all that wait for it.
void FileSender::fail(Lane& lane, Error error) {
    error.where = lane.to.relay->host();
    for (const auto& each : lanes_) {
        if (lane.is_origin() ? !each->is_origin() && !each->done : each.get() == &lane) {
            each->to.node->errors.push_back(error);
        }
    }
    end(lane);
}

Task<void> FileSender::begin_all() {
    std::vector<Task<Status>> tasks;
    for (const auto& lane : lanes_) {
        tasks.push_back(lane->to.relay->begin({.tree = true, .origin = lane->is_origin()}, lane->to.user));
    }
    const auto begun = co_await run_all(std::move(tasks));
    for (std::size_t i = 0; i < begun.size(); ++i) {
        if (!begun[i]) {
            fail(*lanes_[i], begun[i].error());
        }
    }
}

Task<void> FileSender::run() {
    co_await begin_all();
    if (lanes_.front()->is_origin() && lanes_.front()->done) {
        co_return; // nobody has it
    }
    std::vector<std::string> addresses;
    for (const auto& lane : lanes_) {
        addresses.push_back(lane->done ? "" : lane->to.relay->peer_address());
    }
    auto peers = make_peers(addresses, lanes_.front()->is_origin());
    std::size_t next = 0;
    for (const auto& lane : lanes_) {
        lane->pending = wire::to_line(peers[next++]) + list_for(*lane);
        if (!lane->is_origin() && !lane->done) {
            lane->step.emplace(reporter_, "data", lane->to.relay->host(), "receiving");
        }
    }
    std::vector<Task<Status>> work;
    for (const auto& lane : lanes_) {
        if (!lane->done) {
            work.push_back(read(*lane));
            work.push_back(write(*lane));
        }
    }
    co_await run_all(std::move(work));
}

std::string FileSender::list_for(const Lane& lane) const {
    std::vector<bool> wanted(tree_.entries.size(), lane.is_origin());
    if (!lane.is_origin()) {
        for (const auto& action : lane.to.node->plan.actions) {
            wanted[action.entry] = wanted[action.entry] || action.kind == SyncAction::Kind::send;
        }
    }
    std::string lines;
    wire::RelayFiles files;
    for (std::size_t number = 0; number < files_.size(); ++number) {
        const auto& entry = tree_.entries[files_[number]];
        if (!wanted[files_[number]]) {
            continue;
        }
        files.files.push_back({.number = static_cast<int>(number),
                               .name = entry.name,
                               .size = static_cast<std::int64_t>(entry.size),
                               .mode = entry.mode,
                               .time_ns = entry.time_ns});
        if (files.files.size() == files_a_line) {
            lines += wire::to_line(files);
            files.files.clear();
        }
    }
    files.last = true;
    return lines + wire::to_line(files);
}

// --- what a relay says ---

Task<Status> FileSender::read(Lane& lane) {
    const auto read = co_await read_from(lane);
    if (!lane.done) {
        auto error =
            read ? Error{ErrorKind::node, "", "its relay ended: " + printable(lane.to.relay->lines().err()),
                         "is the host up? run it again: it resumes where it stopped"}
                 : read.error();
        fail(lane, std::move(error));
    }
    co_return ok;
}

Task<Status> FileSender::read_from(Lane& lane) {
    while (true) {
        const auto line = co_await lane.to.relay->lines().next_line();
        CO_TRY(line);
        if (!*line) {
            co_return ok;
        }
        auto message = wire::parse_relay_message(**line);
        CO_TRY(message);
        if (auto taken = take(lane, std::move(*message)); !taken) {
            co_return taken;
        }
    }
}

Status FileSender::take(Lane& lane, wire::RelayMessage message) {
    using Type = wire::RelayMessage::Type;
    Error wrong{ErrorKind::protocol, "", "its relay sent a message that is not allowed", ""};
    switch (message.type) {
    case Type::want:
        if (message.want.count == 0 || !knows(message.want.first) ||
            !knows(message.want.first + message.want.count - 1) || lane.is_origin() ||
            lane.wants.size() == most_wants) {
            return wrong;
        }
        lane.wants.push_back(std::move(message.want));
        lane.changed.notify();
        return ok;
    case Type::digest:
        if (!lane.is_origin() || !knows(message.digest.file)) {
            return wrong;
        }
        tell_digest(message.digest.file, std::move(message.digest.digest));
        return ok;
    case Type::progress:
        if (lane.step && !lane.done) {
            lane.step->progress("receiving", static_cast<std::uint64_t>(message.bytes),
                                lane.to.node->plan.bytes);
        }
        return ok;
    case Type::lost:
        if (lane.is_origin() || !knows(message.file)) {
            return wrong;
        }
        if (++lane.errors <= most_file_errors) {
            const auto name = printable(file(message.file).name);
            const auto text = printable(message.text);
            lane.to.node->errors.push_back({ErrorKind::node, lane.to.relay->host(),
                                            text.starts_with(name) ? text : name + ": " + text,
                                            printable(message.hint)});
        }
        return ok;
    case Type::done:
        if (lane.is_origin()) {
            return wrong;
        }
        end(lane);
        return ok;
    default:
        return wrong;
    }
}

void FileSender::tell_digest(int number, std::string digest) {
    auto& known = digests_[static_cast<std::size_t>(number)];
    if (known) {
        return; // the first word counts
    }
    known = std::move(digest);
    const auto line = wire::to_line(wire::RelayDigest{.file = number, .digest = *known});
    for (const auto& lane : lanes_) {
        if (!lane->is_origin() && !lane->done) {
            lane->pending += line;
            lane->changed.notify();
        }
    }
}

// Those behind read from those before: all stay until the last is done.
void FileSender::end(Lane& lane) {
    if (lane.done) {
        return;
    }
    lane.done = true;
    if (lane.step) {
        auto& errors = lane.to.node->errors;
        if (lane.errors > most_file_errors) {
            errors.push_back(
                {ErrorKind::node, lane.to.relay->host(),
                 std::to_string(lane.errors - most_file_errors) + " more files could not be kept", ""});
        }
        if (errors.empty()) {
            lane.step->finished("received");
        } else {
            lane.step->failed("could not take all");
        }
    }
    if (lane.is_origin()) { // what has no digest by now gets none
        for (std::size_t number = 0; number < files_.size(); ++number) {
            tell_digest(static_cast<int>(number), "");
        }
    }
    ended_ = std::ranges::all_of(lanes_, [](const auto& each) { return each->is_origin() || each->done; });
    for (const auto& each : lanes_) {
        each->changed.notify();
    }
}

// --- what it is told ---

Task<Status> FileSender::write(Lane& lane) {
    while (!ended_) {
        if (!lane.pending.empty()) {
            if (!co_await lane.to.relay->lines().write(std::exchange(lane.pending, {}))) {
                co_return ok; // whoever reads from it says more
            }
        } else if (!lane.wants.empty()) {
            const auto want = lane.wants.front();
            lane.wants.pop_front();
            if (!co_await give(lane, want)) {
                co_return ok;
            }
        } else {
            co_await lane.changed.wait_for_change();
        }
    }
    co_return co_await lane.to.relay->lines().close_input();
}

Task<Status> FileSender::give(Lane& lane, const wire::RelayRequest& want) {
    auto folder = lanes_.front()->is_origin() ? Result<Folder>(Error{}) : Folder::open(tree_.path);
    for (int i = 0; i < want.count && !ended_; ++i) {
        const int number = want.first + i;
        if (folder) {
            if (auto given = co_await give_file(lane, *folder, number, i == 0 ? want.offset : 0); !given) {
                co_return given;
            }
            continue;
        }
        const auto nothing = wire::to_line(wire::RelayPiece{.length = 0, .file = number});
        if (auto written = co_await lane.to.relay->lines().write(nothing); !written) {
            co_return written;
        }
    }
    co_return ok;
}

// From the offset on; from the begin it is read where nobody knows its digest yet.
Task<Status> FileSender::give_file(Lane& lane, Folder& folder, int number, std::int64_t offset) {
    const auto executor = co_await boost::asio::this_coro::executor;
    auto& lines = lane.to.relay->lines();
    const auto& listed = file(number);
    const auto size = static_cast<std::int64_t>(listed.size);
    const auto content = open_file(folder, tree_.local_name(listed));
    const auto is_as_listed = [&] {
        const auto entry = content.open() ? entry_of(content.get(), listed.name) : Error{};
        return entry && entry->size == listed.size && entry->time_ns == listed.time_ns;
    };
    const bool hashing = !digests_[static_cast<std::size_t>(number)];
    Sha256 hash;
    auto at = hashing ? 0 : offset;
    bool whole = is_as_listed() && offset <= size && ::lseek(content.get(), at, SEEK_SET) == at;
    while (whole && at < size && !ended_) {
        const auto end = at < offset ? offset : size;
        const auto piece =
            read_piece(content.get(), std::min(piece_size, static_cast<std::size_t>(end - at)));
        if (!piece || piece->empty()) {
            whole = false;
            break;
        }
        if (hashing) {
            hash.add(*piece);
        }
        const bool is_for_it = at >= offset;
        at += static_cast<std::int64_t>(piece->size());
        if (!is_for_it) {
            co_await boost::asio::post(executor, boost::asio::use_awaitable);
            continue;
        }
        if (hashing && at == size) {
            whole = is_as_listed();
            tell_digest(number, whole ? hash.digest() : "");
        }
        auto text = std::exchange(lane.pending, {}) +
                    wire::to_line(wire::RelayPiece{
                        .length = static_cast<std::int64_t>(whole ? piece->size() : 0), .file = number}) +
                    (whole ? *piece : "");
        if (auto written = co_await lines.write(std::move(text)); !written) {
            co_return written;
        }
    }
    if (!whole && at < size) {
        tell_digest(number, "");
        co_return co_await lines.write(std::exchange(lane.pending, {}) +
                                       wire::to_line(wire::RelayPiece{.length = 0, .file = number}));
    }
    co_return ok;
}

} // namespace dockdist
