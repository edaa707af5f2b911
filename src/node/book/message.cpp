#include "node/book/message.hpp"

#include "shared/wire/little_endian.hpp"

#include <limits>

namespace dockdist::node {
namespace {

enum class MessageKind : std::uint8_t {
    append = 'A',
    append_result = 'a',
    request_vote = 'V',
    vote_result = 'v',
    snapshot = 'S',
};

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t least_entry = word_bytes + 1 + sizeof(std::uint32_t);
// So that no sum of an index and a message's entries, and no next term, is beyond 64 bits.
constexpr auto most_index = std::numeric_limits<std::uint64_t>::max() / 4;

void put_words(std::string& out, MessageKind kind, std::initializer_list<std::uint64_t> words) {
    out += static_cast<char>(kind);
    for (const auto number : words) {
        wire::put_little_endian(out, number);
    }
}

void put_message(std::string& out, const AppendEntries& message) {
    put_words(out, MessageKind::append,
              {message.term, message.before_index, message.before_term, message.committed});
    for (const auto& entry : message.entries) {
        put_entry(out, entry);
    }
}

void put_message(std::string& out, const AppendResult& message) {
    put_words(out, MessageKind::append_result, {message.term, message.rejected, message.last_index});
}

void put_message(std::string& out, const RequestVote& message) {
    put_words(out, MessageKind::request_vote,
              {message.term, message.last_index, message.last_term, message.trial ? 1U : 0U});
}

void put_message(std::string& out, const VoteResult& message) {
    put_words(out, MessageKind::vote_result,
              {message.term, message.granted ? 1U : 0U, message.trial ? 1U : 0U});
}

void put_message(std::string& out, const InstallSnapshot& message) {
    put_words(out, MessageKind::snapshot, {message.term});
    put_snapshot(out, message.snapshot);
}

std::uint64_t read_index(ByteReader& reader) {
    const auto index = reader.number(word_bytes);
    reader.require(index <= most_index);
    return index;
}

std::uint64_t read_term(ByteReader& reader) {
    const auto term = read_index(reader);
    reader.require(term > 0);
    return term;
}

bool read_choice(ByteReader& reader) {
    const auto choice = reader.number(word_bytes);
    reader.require(choice <= 1);
    return choice == 1;
}

AppendEntries read_append(ByteReader& reader) {
    AppendEntries message{.term = read_term(reader)};
    message.before_index = read_index(reader);
    message.before_term = read_index(reader);
    message.committed = read_index(reader);
    reader.require((message.before_index == 0) == (message.before_term == 0));
    message.entries.reserve(std::min<std::size_t>(reader.left() / least_entry, 4096));
    auto term = message.before_term;
    while (!reader.failed() && !reader.at_end()) {
        message.entries.push_back(reader.entry());
        const auto& entry = message.entries.back();
        reader.require(entry.term >= term && entry.term <= message.term);
        term = entry.term;
    }
    // A log begins with the members that it was made with.
    reader.require(message.before_index > 0 || message.entries.empty() ||
                   message.entries.front().type == EntryType::members);
    return message;
}

Message read_message(ByteReader& reader) {
    switch (static_cast<MessageKind>(reader.number(1))) {
    case MessageKind::append:
        return read_append(reader);
    case MessageKind::append_result: {
        AppendResult message{.term = read_term(reader)};
        message.rejected = read_index(reader);
        message.last_index = read_index(reader);
        return message;
    }
    case MessageKind::request_vote: {
        RequestVote message{.term = read_term(reader)};
        message.last_index = read_index(reader);
        message.last_term = read_index(reader);
        message.trial = read_choice(reader);
        return message;
    }
    case MessageKind::vote_result: {
        VoteResult message{.term = read_term(reader)};
        message.granted = read_choice(reader);
        message.trial = read_choice(reader);
        return message;
    }
    case MessageKind::snapshot: {
        InstallSnapshot message{.term = read_term(reader)};
        message.snapshot = reader.snapshot();
        reader.require(message.snapshot.index <= most_index && message.snapshot.term <= message.term);
        return message;
    }
    }
    reader.require(false);
    return VoteResult{};
}

} // namespace

std::string to_bytes(const Message& message) {
    std::string bytes;
    std::visit([&](const auto& one) { put_message(bytes, one); }, message);
    return bytes;
}

Result<Message> parse_message(std::string_view bytes) {
    ByteReader reader(bytes);
    reader.require(bytes.size() <= most_message_bytes);
    auto message = read_message(reader);
    if (reader.failed() || !reader.at_end()) {
        return Error{.kind = ErrorKind::protocol, .message = "no message of a voter"};
    }
    return message;
}

} // namespace dockdist::node
