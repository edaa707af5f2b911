#include "node/book/raft_words.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace dockdist::node {
namespace {

constexpr std::size_t barrier_bytes = 8; // C-Raft's own have as many, and never looked at

} // namespace

raft_buffer buffer_of(std::string_view bytes) {
    raft_buffer buffer{.base = raft_malloc(std::max<std::size_t>(bytes.size(), 1)), .len = bytes.size()};
    std::memcpy(buffer.base, bytes.data(), bytes.size());
    return buffer;
}

std::string_view view_of(const raft_buffer& buffer) {
    return {static_cast<const char*>(buffer.base), buffer.len};
}

// What C-Raft has put into a barrier is memory that nobody has written to.
LogEntry entry_of(const raft_entry& entry) {
    LogEntry copy{.term = entry.term, .type = static_cast<EntryType>(entry.type)};
    if (copy.type != EntryType::barrier) {
        copy.bytes = view_of(entry.buf);
    }
    return copy;
}

std::string bytes_for_raft(const LogEntry& entry) {
    return entry.type == EntryType::barrier ? std::string(barrier_bytes, '\0') : entry.bytes;
}

raft_entry* entries_for_raft(const std::vector<LogEntry>& entries) {
    if (entries.empty()) {
        return nullptr;
    }
    std::string all;
    for (const auto& entry : entries) {
        all += bytes_for_raft(entry);
    }
    auto* const batch = static_cast<char*>(buffer_of(all).base);
    auto* const out = static_cast<raft_entry*>(raft_calloc(entries.size(), sizeof(raft_entry)));
    std::size_t at = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto size = bytes_for_raft(entries[i]).size();
        out[i] = {.term = entries[i].term,
                  .type = static_cast<unsigned short>(entries[i].type),
                  .buf = {.base = batch + at, .len = size},
                  .batch = batch};
        at += size;
    }
    return out;
}

Members members_of(const raft_configuration& configuration) {
    Members members;
    for (unsigned i = 0; i < configuration.n; ++i) {
        const auto& server = configuration.servers[i];
        members.push_back({.id = server.id, .votes = server.role == RAFT_VOTER});
    }
    return members;
}

raft_configuration configuration_of(const Members& members) {
    raft_configuration configuration;
    raft_configuration_init(&configuration);
    for (const auto& member : members) {
        raft_configuration_add(&configuration, member.id, std::to_string(member.id).c_str(),
                               member.votes ? RAFT_VOTER : RAFT_SPARE);
    }
    return configuration;
}

Snapshot snapshot_of(const raft_snapshot& snapshot) {
    Snapshot copy{.index = snapshot.index,
                  .term = snapshot.term,
                  .members_index = snapshot.configuration_index,
                  .members = members_of(snapshot.configuration)};
    for (unsigned i = 0; i < snapshot.n_bufs; ++i) {
        copy.state += view_of(snapshot.bufs[i]);
    }
    return copy;
}

raft_snapshot* raft_snapshot_of(const Snapshot& snapshot) {
    auto* copy = static_cast<raft_snapshot*>(raft_calloc(1, sizeof(raft_snapshot)));
    copy->index = snapshot.index;
    copy->term = snapshot.term;
    copy->configuration = configuration_of(snapshot.members);
    copy->configuration_index = snapshot.members_index;
    copy->bufs = static_cast<raft_buffer*>(raft_malloc(sizeof(raft_buffer)));
    copy->bufs[0] = buffer_of(snapshot.state);
    copy->n_bufs = 1;
    return copy;
}

LogEntry first_entry_of(const Members& members) {
    auto configuration = configuration_of(members);
    raft_buffer bytes{};
    raft_configuration_encode(&configuration, &bytes);
    LogEntry first{.term = 1, .type = EntryType::members, .bytes = std::string(view_of(bytes))};
    raft_free(bytes.base);
    raft_configuration_close(&configuration);
    return first;
}

} // namespace dockdist::node
