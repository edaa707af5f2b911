// Voters with simulated disks, and a network that loses, delays, doubles and cuts what they say. Disks are
// full for a while, or their machine dies in a write, which is there then or is not; voters are frozen,
// killed, replaced by new ones with empty disks. What is true of each moment is checked at each.
#pragma once

#include "node/book/voter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dockdist::simulated {

using namespace dockdist::node;

inline constexpr unsigned election_ms = 1000;
inline constexpr unsigned heartbeat_ms = 100;
inline constexpr std::int64_t settled_ms = 40 * election_ms;

class SimulatedDisk final : public Disk {
public:
    bool full = false;
    std::optional<int> dies_in{}; // so many writes; that one happens if `lucky`
    bool lucky = false, dead = false;
    int writes = 0;

    Result<Stored> load() override { return full ? Result<Stored>(no_space()) : stored_; }
    Status set_term(std::uint64_t term, VoterId vote) override {
        return write([&] {
            stored_.term = term;
            stored_.vote = vote;
        });
    }
    Status append(std::span<const LogEntry> entries) override {
        return write([&] { stored_.entries.insert(stored_.entries.end(), entries.begin(), entries.end()); });
    }
    Status truncate(std::uint64_t from_index) override {
        REQUIRE(from_index >= stored_.first_index);
        return write([&] { stored_.entries.resize(from_index - stored_.first_index); });
    }
    Status put_snapshot(const Snapshot& snapshot, std::optional<std::uint64_t> first_kept) override {
        return write([&] {
            // As it is on a disk: what was written is what is read.
            std::string bytes;
            node::put_snapshot(bytes, snapshot);
            ByteReader reader(bytes);
            stored_.snapshot = reader.snapshot();
            REQUIRE_FALSE(reader.failed());
            REQUIRE(reader.at_end());
            auto& entries = stored_.entries;
            const auto gone = first_kept ? *first_kept - stored_.first_index : entries.size();
            entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(gone));
            stored_.first_index = first_kept.value_or(snapshot.index + 1);
        });
    }
    Result<Snapshot> get_snapshot() override { return *stored_.snapshot; }

private:
    static Error no_space() { return {.kind = ErrorKind::node, .message = "No space left on device"}; }
    template <class Change>
    Status write(Change change) {
        REQUIRE_FALSE(dead); // who has failed is not written to before it is loaded
        ++writes;
        if (full) {
            return no_space();
        }
        if (dies_in && (*dies_in)-- == 0) {
            dead = true;
            if (lucky) {
                change();
            }
            return Error{.kind = ErrorKind::node, .message = "the machine died"};
        }
        change();
        return ok;
    }

    Stored stored_{};
};

class Book {
public:
    Book(std::size_t voters, unsigned seed) : random_(seed) {
        Members members;
        for (std::size_t i = 0; i < voters; ++i) {
            members.push_back({.id = next_id_++, .votes = true});
        }
        for (const auto& member : members) {
            REQUIRE(Voter::found(nodes_[member.id].disk, members).has_value());
            start(member.id);
        }
    }

    // Faults.
    struct Chances {
        int lost = 0, doubled = 0, slow = 0; // of a hundred messages
    };
    Chances chances{};
    void kill(VoterId id) { nodes_.at(id).voter.reset(); }
    void start(VoterId id) {
        auto& node = nodes_.at(id);
        node.disk.dead = false;
        node.disk.dies_in.reset();
        node.voter = std::make_unique<Voter>(
            VoterOptions{.self = id,
                         .election_ms = election_ms,
                         .heartbeat_ms = heartbeat_ms,
                         .log_bytes = 1500,
                         .random = [this](int least, int most) { return pick(least, most); }},
            node.disk, [this, id](VoterId to, std::string message) { send(id, to, std::move(message)); },
            [](const std::string&) {});
        (void)node.voter->open(now);
        at(now + pick(0, heartbeat_ms), [this, id, voter = node.voter.get()] { tick(id, voter); });
        look_at(id);
    }
    void freeze(VoterId id, std::int64_t for_ms) { nodes_.at(id).frozen_until = now + for_ms; }
    void cut(VoterId a, VoterId b) { cuts_.insert(std::minmax(a, b)); }
    void mend_all() { cuts_.clear(); }
    SimulatedDisk& disk(VoterId id) { return nodes_.at(id).disk; }
    // Its disk is gone for good, or it is to go: a new one is to take its place (see care_for_members()).
    void replace(VoterId id, bool lost) {
        if (lost) {
            kill(id);
            lost_.insert(id);
        }
        leaving_[id] = next_id_;
        nodes_[next_id_];
        start(next_id_++);
    }

    void pass(std::int64_t milliseconds) {
        const auto end = now + milliseconds;
        while (!events_.empty() && std::get<0>(events_.begin()->first) <= end) {
            now = std::max(now, std::get<0>(events_.begin()->first));
            const auto happens = std::move(events_.begin()->second);
            events_.erase(events_.begin());
            happens();
        }
        now = end;
    }
    // A client changes a record as it knows it from the one that it asks.
    void change_something(VoterId id) {
        auto* voter = awake(id);
        if (voter == nullptr) {
            return;
        }
        RecordChange change{.name = "job-" + std::to_string(pick(0, 5))};
        const auto& records = voter->records().all();
        if (const auto found = records.find(change.name); found != records.end()) {
            change.version = found->second.version;
        }
        if (pick(0, 9) != 0) {
            change.bytes = "change " + std::to_string(++changes_) +
                           std::string(static_cast<std::size_t>(pick(0, 60)), '.');
        }
        voter->propose(change, [this, change](const Answer& answer) {
            if (answer.outcome == Answer::Outcome::accepted) {
                ++accepted;
                if (auto& latest = acknowledged_[change.name]; answer.version > latest.first) {
                    latest = {answer.version, change.bytes};
                }
            }
        });
        look_at(id);
    }
    // What `up` does: one change at a time, by whoever leads.
    void care_for_members() {
        const auto id = leader();
        if (!id) {
            return;
        }
        auto& voter = *nodes_.at(*id).voter;
        const auto members = voter.members();
        const auto find = [&](VoterId one) { return std::ranges::find(members, one, &Member::id); };
        for (auto pair = leaving_.begin(); pair != leaving_.end(); ++pair) {
            const auto [old, young] = *pair;
            const auto ignore = [](const Answer&) {};
            const auto came = find(young);
            if (came == members.end()) {
                voter.add(young, ignore);
            } else if (!came->votes && std::ranges::count(members, true, &Member::votes) < 5) {
                voter.promote(young, ignore);
            } else if (find(old) != members.end()) {
                old == *id ? voter.step_down() : voter.remove(old, ignore);
            } else if (most_know_that(old, members)) {
                nodes_.at(old).voter.reset();
                retired_.insert(old);
                leaving_.erase(pair);
                return;
            }
            look_at(*id);
            return;
        }
    }

    std::vector<VoterId> ids() const { // of those that are there or are to be
        std::vector<VoterId> found;
        for (const auto& [id, node] : nodes_) {
            if (!retired_.contains(id)) {
                found.push_back(id);
            }
        }
        return found;
    }
    // Who leads, and would be believed by a client: the one of the latest term.
    std::optional<VoterId> leader() const {
        std::optional<VoterId> found;
        for (const auto& [id, node] : nodes_) {
            if (awake(id) != nullptr && node.voter->leads() &&
                (!found || node.voter->term() > nodes_.at(*found).voter->term())) {
                found = id;
            }
        }
        return found;
    }
    Voter* awake(VoterId id) const {
        const auto& node = nodes_.at(id);
        return now >= node.frozen_until ? node.voter.get() : nullptr;
    }
    bool runs(VoterId id) const { return nodes_.at(id).voter != nullptr; }
    bool is_lost(VoterId id) const { return lost_.contains(id); }
    std::size_t leaving() const { return leaving_.size(); }
    std::size_t snapshots(VoterId id) { return nodes_.at(id).disk.get_snapshot()->index; }
    std::string described() const {
        std::string text;
        for (const auto& [id, node] : nodes_) {
            text += std::to_string(id) + ":";
            if (const auto* voter = node.voter.get()) {
                text += " term " + std::to_string(voter->term()) + ", committed " +
                        std::to_string(voter->committed()) + ", leader " + std::to_string(voter->leader());
                for (const auto& member : voter->members()) {
                    text += (member.votes ? " voter " : " spare ") + std::to_string(member.id);
                }
                text += voter->failed() ? ", failed: " + voter->failed()->message : "";
            }
            text += "\n";
        }
        return text;
    }
    int pick(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<int>(static_cast<int>(least), static_cast<int>(most))(random_);
    }

    std::int64_t now = 1'000'000;
    int accepted = 0;

private:
    struct Node {
        SimulatedDisk disk{};
        std::unique_ptr<Voter> voter{};
        std::int64_t frozen_until = 0;
    };
    // That it is no member any more: a majority of those that are has that in its log.
    bool most_know_that(VoterId left, const Members& members) const {
        const auto knows = [&](const Member& member) {
            const auto* voter = member.votes ? nodes_.at(member.id).voter.get() : nullptr;
            return voter != nullptr && !voter->members().empty() &&
                   std::ranges::count(voter->members(), left, &Member::id) == 0;
        };
        return std::ranges::count_if(members, knows) * 2 > std::ranges::count(members, true, &Member::votes);
    }
    void at(std::int64_t when, std::function<void()> what) {
        events_.emplace(std::tuple(when, number_++), std::move(what));
    }
    void tick(VoterId id, const Voter* voter) {
        auto& node = nodes_.at(id);
        if (node.voter.get() != voter) {
            return; // of one that was killed
        }
        if (now < node.frozen_until) {
            at(node.frozen_until, [this, id, voter] { tick(id, voter); });
            return;
        }
        node.voter->tick(now);
        look_at(id);
        at(now + heartbeat_ms, [this, id, voter] { tick(id, voter); });
    }
    void send(VoterId from, VoterId to, std::string message) {
        const auto times = pick(1, 100) <= chances.doubled ? 2 : 1;
        for (int i = 0; i < times; ++i) {
            if (pick(1, 100) > chances.lost) {
                const auto delay = pick(1, 100) <= chances.slow ? pick(1, 5 * election_ms) : pick(1, 20);
                at(now + delay, [this, from, to, message] { arrive(from, to, message); });
            }
        }
    }
    void arrive(VoterId from, VoterId to, const std::string& message) {
        const auto found = nodes_.find(to);
        if (found == nodes_.end() || found->second.voter == nullptr ||
            cuts_.contains(std::minmax(from, to))) {
            return;
        }
        if (now < found->second.frozen_until) {
            at(found->second.frozen_until, [this, from, to, message] { arrive(from, to, message); });
            return;
        }
        REQUIRE(found->second.voter->receive(from, message, now).has_value());
        look_at(to);
    }

    // The invariants, at whom something has happened.
    void look_at(VoterId id) {
        auto& node = nodes_.at(id);
        if (node.voter == nullptr) {
            return;
        }
        const auto& voter = *node.voter;
        CAPTURE(now);
        CAPTURE(id);
        if (node.disk.full && voter.failed()) {
            CHECK_FALSE(voter.leads());
        }
        // Equal records at equal indices: no two entries were committed at one.
        const auto& records = voter.records();
        if (records.applied() != node_applied_[id]) {
            node_applied_[id] = records.applied();
            const auto [known, is_new] = states_.emplace(records.applied(), records.save());
            REQUIRE(known->second == records.save());
        }
        for (const auto& [name, record] : records.all()) {
            const auto [known, is_new] = written_.emplace(record.version, std::pair(name, record.bytes));
            REQUIRE(known->second == std::pair(name, record.bytes));
        }
        if (voter.leads()) {
            // One a term, and it has all that anybody was told is accepted.
            const auto [known, is_new] = leaders_.emplace(voter.term(), id);
            REQUIRE(known->second == id);
            if (is_new) {
                for (const auto& [name, latest] : acknowledged_) {
                    CAPTURE(name);
                    const auto found = records.all().find(name);
                    const auto version = found == records.all().end() ? 0 : found->second.version;
                    REQUIRE(records.applied() >= latest.first);
                    if (latest.second && records.applied() == latest.first) {
                        REQUIRE(version == latest.first);
                    }
                    if (version == latest.first && latest.second) {
                        REQUIRE(found->second.bytes == *latest.second);
                    }
                    REQUIRE((version == 0 || version >= latest.first));
                }
            }
        }
        if (node.disk.dead) {
            node.voter.reset();
        }
    }

    std::mt19937 random_;
    std::map<VoterId, Node> nodes_{};
    std::map<VoterId, VoterId> leaving_{}; // by whom it is replaced
    std::set<VoterId> lost_{}, retired_{};
    VoterId next_id_ = 1;
    std::set<std::pair<VoterId, VoterId>> cuts_{};
    std::map<std::tuple<std::int64_t, std::uint64_t>, std::function<void()>> events_{};
    std::uint64_t number_ = 0;
    int changes_ = 0;

    std::map<VoterId, std::uint64_t> node_applied_{};
    std::map<std::uint64_t, std::string> states_{};                          // of the records, by index
    std::map<std::uint64_t, std::pair<std::string, std::string>> written_{}; // by version
    std::map<std::uint64_t, VoterId> leaders_{};                             // by term
    std::map<std::string, std::pair<std::uint64_t, std::optional<std::string>>> acknowledged_{};
};

} // namespace dockdist::simulated
