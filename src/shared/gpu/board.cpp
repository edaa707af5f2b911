#include "shared/gpu/board.hpp"

#include "shared/wire/fields.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace dockdist {

namespace {

wire::GpuParty without_ages(wire::GpuParty who) {
    who.age_s = who.left_s = 0;
    return who;
}

void read_who(wire::ObjectReader& reader, const char* key, wire::GpuParty& who) {
    wire::read_object(reader, key, [&](wire::ObjectReader& object) { read_fields(object, who); });
    who = without_ages(std::move(who));
}

void check_ids(wire::ObjectReader& reader, const std::vector<BoardEntry>& entries) {
    std::set<std::uint64_t> ids;
    for (const auto& entry : entries) {
        if (!ids.insert(entry.id).second) {
            return reader.fail("two entries have one id");
        }
    }
}

bool is_waiting(const BoardEntry& entry) {
    return entry.units.empty();
}

bool of_one_job(const BoardEntry& one, const BoardEntry& other) {
    return one.who.job == other.who.job && one.who.cluster == other.who.cluster;
}

using Ids = std::set<std::string, std::less<>>;

bool wants_any(const BoardEntry& ticket, const Ids& ids) {
    return std::ranges::any_of(ticket.candidates, [&](const auto& id) { return ids.contains(id); });
}

// Everybody who waits, in order; one that is not in the board yet stands behind all.
std::vector<const BoardEntry*> line_of(const Board& board, const BoardEntry& own) {
    std::vector<const BoardEntry*> line;
    bool in_board = false;
    for (const auto& entry : board.entries) {
        const bool is_own = own.id != 0 && entry.id == own.id;
        in_board = in_board || is_own;
        if (is_own || is_waiting(entry)) {
            line.push_back(is_own ? &own : &entry);
        }
    }
    std::ranges::sort(line, [](const auto* one, const auto* other) { return goes_before(*one, *other); });
    if (!in_board) {
        line.push_back(&own);
    }
    return line;
}

// How many of those that have not had their turn would do with a unit.
class Demand {
public:
    explicit Demand(const std::vector<const BoardEntry*>& line) {
        for (const auto* ticket : line) {
            add(*ticket, 1);
        }
    }
    void served(const BoardEntry& ticket) { add(ticket, -1); }
    int of(const std::string& id) const {
        const auto found = count_.find(id);
        return found == count_.end() ? 0 : found->second;
    }

private:
    void add(const BoardEntry& ticket, int change) {
        for (const auto& id : ticket.candidates) {
            count_[id] += change;
        }
    }
    std::map<std::string, int, std::less<>> count_{};
};

// Parts of one job start together, so what they want together has to be there.
std::vector<std::string> rivals_of(const std::vector<const BoardEntry*>& line, const BoardEntry& own) {
    Ids units(own.candidates.begin(), own.candidates.end());
    std::int64_t wanted = own.wanted;
    std::vector<const BoardEntry*> others;
    std::ranges::copy_if(line, std::back_inserter(others),
                         [&](const auto* ticket) { return ticket != &own && of_one_job(*ticket, own); });
    std::vector<std::string> rivals;
    for (bool grown = true; grown;) {
        grown = false;
        for (auto& other : others) {
            if (other != nullptr && wants_any(*other, units)) {
                units.insert(other->candidates.begin(), other->candidates.end());
                wanted += other->wanted;
                rivals.push_back(other->who.node);
                other = nullptr;
                grown = true;
            }
        }
    }
    if (wanted <= static_cast<std::int64_t>(units.size())) {
        rivals.clear();
    }
    std::ranges::sort(rivals);
    return rivals;
}

} // namespace

bool holds(const BoardEntry& entry, std::string_view unit) {
    return std::ranges::find(entry.units, unit, &wire::GpuUnit::id) != entry.units.end();
}

const BoardEntry* holder_of(const std::vector<BoardEntry>& entries, std::string_view unit) {
    const auto found =
        std::ranges::find_if(entries, [&](const BoardEntry& entry) { return holds(entry, unit); });
    return found == entries.end() ? nullptr : &*found;
}

wire::GpuParty party_of(const BoardEntry& entry, std::int64_t now_ms) {
    auto party = entry.who;
    party.age_s = std::max<std::int64_t>((now_ms - entry.since_ms) / 1000, 0);
    party.left_s = entry.until_ms > 0 ? std::max<std::int64_t>((entry.until_ms - now_ms) / 1000, 1) : 0;
    return party;
}

void fields_of(auto& fields, wire::Of<BoardEntry> auto& entry) {
    fields.required("id", entry.id, 1, static_cast<std::int64_t>(max_board_id));
    fields("who", wire::by(entry.who, without_ages, read_who));
    fields("since_ms", entry.since_ms);
    fields.omit_empty("until_ms", entry.until_ms, 0, wire::any_count); // older nodes know nothing of it
    fields("units", entry.units);
    fields("wanted", entry.wanted, 0, wire::any_int);
    fields("candidates", wire::bytes_of(entry.candidates));
    fields("priority", entry.priority, -wire::max_priority, wire::max_priority);
    fields("number", entry.number, 0, max_board_number);
    fields("final", entry.is_final);
    fields.check(!entry.units.empty() || entry.wanted > 0, "an entry neither holds nor waits");
}

void fields_of(auto& fields, wire::Of<Board> auto& board) {
    fields.writing([](auto& out) { out["format"] = board_format; }); // parse_board reads it first
    fields("last_number", board.last_number, 0, max_board_number);
    fields("last_id", board.last_id, 0, static_cast<std::int64_t>(max_board_id));
    fields.required("entries", board.entries, max_board_entries);
    fields.reading([&](auto& reader) { check_ids(reader, board.entries); });
}

std::string board_text(const Board& board) {
    return wire::text_of(board);
}

Result<Board> parse_board(std::string_view text) {
    if (text.size() > max_board_size) {
        return Error{.kind = ErrorKind::protocol, .message = "the board is larger than 1 MiB"};
    }
    const auto object = wire::parse_object(text, "the board");
    TRY(object);
    Board board;
    wire::ObjectReader reader(*object, "the board");
    std::int64_t format = board_format;
    reader.read("format", format);
    if (!reader.failed() && format != board_format) {
        return Error{.kind = ErrorKind::conflict,
                     .message = "it has format " + std::to_string(format) + ", and this node knows format " +
                                std::to_string(board_format)};
    }
    wire::read_listed(reader, board);
    if (reader.failed()) {
        return reader.error();
    }
    return board;
}

bool goes_before(const BoardEntry& one, const BoardEntry& other) {
    const auto key = [](const BoardEntry& entry) {
        // Of one job's parts on this host those come first that have the least choice.
        return std::tuple(-entry.priority, entry.number, std::string_view(entry.who.job),
                          std::string_view(entry.who.cluster), entry.candidates.size(),
                          std::string_view(entry.who.node), entry.id);
    };
    return key(one) < key(other);
}

Verdict decide(const Board& board, const BoardEntry& own) {
    const Ids candidates(own.candidates.begin(), own.candidates.end());
    Verdict verdict;
    Ids gone; // held, or somebody's before us
    for (const auto& entry : board.entries) {
        if (is_waiting(entry) || (own.id != 0 && entry.id == own.id)) {
            continue;
        }
        for (const auto& unit : entry.units) {
            gone.insert(unit.id);
        }
        if (std::ranges::any_of(entry.units,
                                [&](const auto& unit) { return candidates.contains(unit.id); })) {
            verdict.holders.push_back(&entry);
        }
    }
    const auto line = line_of(board, own);
    verdict.own_rivals = rivals_of(line, own);
    Demand demand(line);
    for (const auto* ticket : line) {
        if (ticket == &own) {
            break;
        }
        demand.served(*ticket);
        if (wants_any(*ticket, candidates)) {
            verdict.ahead.push_back(ticket);
        }
        std::vector<std::pair<int, std::size_t>> left; // those first that fewer behind it would do with
        for (std::size_t i = 0; i < ticket->candidates.size(); ++i) {
            if (!gone.contains(ticket->candidates[i])) {
                left.emplace_back(demand.of(ticket->candidates[i]), i);
            }
        }
        std::ranges::sort(left);
        left.resize(std::min(left.size(), static_cast<std::size_t>(ticket->wanted)));
        for (const auto& [behind, index] : left) {
            gone.insert(ticket->candidates[index]);
        }
    }
    verdict.place = static_cast<int>(verdict.ahead.size()) + 1;
    std::ranges::copy_if(own.candidates, std::back_inserter(verdict.free),
                         [&](const auto& id) { return !gone.contains(id); });
    verdict.fits = verdict.free.size() >= static_cast<std::size_t>(own.wanted);
    return verdict;
}

} // namespace dockdist
