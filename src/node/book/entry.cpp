#include "node/book/entry.hpp"

#include "shared/wire/little_endian.hpp"

#include <algorithm>
#include <string>

namespace dockdist::node {
namespace {

// C-Raft's codes of roles, and the first byte of its configurations.
constexpr std::uint64_t raft_voter_role = 1;
constexpr std::uint64_t raft_spare_role = 2;
constexpr std::uint64_t raft_members_format = 1;
constexpr std::size_t longest_members = 512;

bool are_sound(const Members& members) {
    for (auto member = members.begin(); member != members.end(); ++member) {
        if (member->id == 0 || std::any_of(members.begin(), member,
                                           [&](const Member& other) { return other.id == member->id; })) {
            return false;
        }
    }
    return members.size() <= most_members && std::ranges::any_of(members, &Member::votes);
}

} // namespace

void put_text(std::string& out, std::string_view text) {
    wire::put_little_endian(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

void put_entry(std::string& out, const LogEntry& entry) {
    wire::put_little_endian(out, entry.term);
    out += static_cast<char>(entry.type);
    put_text(out, entry.bytes);
}

void put_snapshot(std::string& out, const Snapshot& snapshot) {
    wire::put_little_endian(out, snapshot.index);
    wire::put_little_endian(out, snapshot.term);
    wire::put_little_endian(out, snapshot.members_index);
    out += static_cast<char>(snapshot.members.size());
    for (const auto& member : snapshot.members) {
        wire::put_little_endian(out, member.id);
        out += static_cast<char>(member.votes);
    }
    put_text(out, snapshot.state);
}

std::string_view ByteReader::take(std::size_t count) {
    require(count <= rest_.size());
    if (failed_) {
        return {};
    }
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
}

std::uint64_t ByteReader::number(std::size_t bytes) {
    return wire::get_little_endian(take(bytes));
}

std::string_view ByteReader::text(std::size_t most) {
    const auto size = number(sizeof(std::uint32_t));
    require(size <= most);
    return take(size);
}

LogEntry ByteReader::entry() {
    LogEntry entry{.term = number(sizeof(std::uint64_t))};
    const auto type = number(1);
    require(entry.term > 0 && type >= 1 && type <= 3);
    entry.type = failed_ ? EntryType::barrier : static_cast<EntryType>(type);
    entry.bytes = text(most_entry_bytes);
    require(entry.bytes.empty() == (entry.type == EntryType::barrier));
    require(entry.type != EntryType::members || parse_members(entry.bytes).has_value());
    return entry;
}

Snapshot ByteReader::snapshot() {
    Snapshot snapshot;
    snapshot.index = number(sizeof(std::uint64_t));
    snapshot.term = number(sizeof(std::uint64_t));
    snapshot.members_index = number(sizeof(std::uint64_t));
    const auto count = number(1);
    require(snapshot.index > 0 && snapshot.term > 0 && snapshot.members_index <= snapshot.index &&
            count <= most_members);
    for (std::uint64_t i = 0; i < count && !failed_; ++i) {
        const auto id = number(sizeof(VoterId));
        snapshot.members.push_back({.id = id, .votes = number(1) != 0});
    }
    require(are_sound(snapshot.members));
    snapshot.state = text(most_state_bytes);
    return snapshot;
}

Result<Members> parse_members(std::string_view bytes) {
    ByteReader reader(bytes.substr(0, longest_members));
    reader.require(reader.number(1) == raft_members_format);
    const auto count = reader.number(sizeof(std::uint64_t));
    reader.require(count <= most_members);
    Members members;
    for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
        const auto id = reader.number(sizeof(VoterId));
        std::string address; // the number once more, as C-Raft wants a text
        for (auto byte = reader.number(1); byte != 0; byte = reader.number(1)) {
            address += static_cast<char>(byte);
        }
        const auto role = reader.number(1);
        reader.require(address == std::to_string(id) && (role == raft_voter_role || role == raft_spare_role));
        members.push_back({.id = id, .votes = role == raft_voter_role});
    }
    if (reader.failed() || !are_sound(members)) {
        return Error{.kind = ErrorKind::protocol, .message = "no list of voters"};
    }
    return members;
}

} // namespace dockdist::node
