// What the nodes of a host do with its board, each under the board's mutex, as node/gpus/reservation.cpp
// does.
#pragma once

#include "shared/line/line.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace line_boards {

using namespace dockdist;

class Boards {
public:
    explicit Boards(std::size_t hosts) : boards_(hosts) {}

    const Board& of(std::size_t host) const { return boards_[host]; }
    bool is_empty() const {
        return std::ranges::all_of(boards_, [](const Board& board) { return board.entries.empty(); });
    }

    // True: the node has all that the job wants of it.
    bool take(const LineView& view, std::size_t node, const LineJob& job, std::mt19937& random) {
        auto& board = board_of(view, node);
        auto* const there = entry_in(view, node, job.name);
        auto own = there != nullptr ? *there : ticket_of(view, node, job);
        if (own.wanted == 0) {
            return true;
        }
        const auto verdict = decide(board, own);
        if (!verdict.fits) {
            return false;
        }
        const auto before = shares_before(board, own);
        auto free = verdict.free;
        std::ranges::shuffle(free, random); // whatever the choice among them is
        for (int i = 0; i < own.wanted; ++i) {
            own.units.push_back({.id = free[static_cast<std::size_t>(i)]});
        }
        if (there != nullptr) {
            *there = own;
        } else {
            own.id = ++board.last_id;
            board.entries.push_back(own);
        }
        check_never_two(board);
        CHECK(shares_before(board, own) == before);
        return true;
    }

    // What it holds; its place in line may stay.
    void release(const LineView& view, std::size_t node, const std::string& job, bool keeps_ticket) {
        auto* const entry = entry_in(view, node, job);
        if (entry == nullptr || entry->units.empty()) {
            return;
        }
        if (keeps_ticket && entry->number > 0) {
            entry->units.clear();
        } else {
            remove(view, node, entry->id);
        }
    }

    // A ticket, or none; `job`: null where it is over.
    void obey(const LineView& view, const LineStep& step, const LineJob* job) {
        const auto node = step.nodes.front();
        auto& board = board_of(view, node);
        auto* const entry = entry_in(view, node, step.job);
        if (step.what == LineStep::Do::leave) {
            if (entry != nullptr && entry->units.empty()) {
                remove(view, node, entry->id);
            }
        } else if (entry != nullptr) {
            entry->number = step.number > 0 ? step.number : entry->number;
            board.last_number = std::max(board.last_number, entry->number);
        } else if (job != nullptr) {
            auto ticket = ticket_of(view, node, *job);
            ticket.id = ++board.last_id;
            ticket.number = step.number > 0 ? step.number : board.last_number + 1;
            board.last_number = std::max(board.last_number, ticket.number);
            board.entries.push_back(ticket);
        }
    }

    // With all that it holds and waits for.
    void forget(const LineView& view, std::size_t node) {
        std::erase_if(board_of(view, node).entries, [&](const BoardEntry& entry) {
            return entry.who.cluster == view.cluster && entry.who.node == view.nodes[node].name;
        });
    }

private:
    Board& board_of(const LineView& view, std::size_t node) { return boards_[view.nodes[node].host]; }

    BoardEntry* entry_in(const LineView& view, std::size_t node, const std::string& job) {
        auto& entries = board_of(view, node).entries;
        const auto found = std::ranges::find_if(entries, [&](const BoardEntry& entry) {
            return entry.who.cluster == view.cluster && entry.who.job == job &&
                   entry.who.node == view.nodes[node].name;
        });
        return found == entries.end() ? nullptr : &*found;
    }

    void remove(const LineView& view, std::size_t node, std::uint64_t id) {
        std::erase_if(board_of(view, node).entries, [id](const BoardEntry& one) { return one.id == id; });
    }

    static BoardEntry ticket_of(const LineView& view, std::size_t node, const LineJob& job) {
        const auto& units = view.nodes[node].units;
        const auto wanted = job.wanted == wire::all_units ? static_cast<int>(units.size()) : job.wanted;
        return {.who = {.cluster = view.cluster, .node = view.nodes[node].name, .job = job.name},
                .wanted = wanted,
                .candidates = units,
                .priority = job.priority};
    }

    static void check_never_two(const Board& board) {
        std::set<std::string> held;
        for (const auto& entry : board.entries) {
            for (const auto& unit : entry.units) {
                CHECK(held.insert(unit.id).second);
            }
        }
    }

    // How many units each one before `own` could have: what it takes must not be any of theirs.
    static std::vector<std::size_t> shares_before(const Board& board, const BoardEntry& own) {
        std::vector<std::size_t> shares;
        for (const auto& entry : board.entries) {
            if (entry.units.empty() && entry.id != own.id && (own.number == 0 || goes_before(entry, own))) {
                const auto free = decide(board, entry).free.size();
                shares.push_back(std::min(free, static_cast<std::size_t>(entry.wanted)));
            }
        }
        return shares;
    }

    std::vector<Board> boards_;
};

} // namespace line_boards
