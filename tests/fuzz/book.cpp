// What other voters say, and what is read of a log's file: neither can make a voter read beyond it, and what
// was read is what was written. And a voter to whom anything at all is said, in order, goes on.
#include "fuzz/fuzz.hpp"
#include "node/book/file_disk.hpp"
#include "node/book/message.hpp"
#include "node/book/voter.hpp"

#include <array>

namespace {

using namespace dockdist;
using namespace dockdist::node;

const std::string two_voters("\1\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0001\0\1\2\0\0\0\0\0\0\0002\0\1", 31);

// As good a disk as there can be.
class KeptDisk final : public Disk {
public:
    Result<Stored> load() override { return stored_; }
    Status set_term(std::uint64_t term, VoterId vote) override {
        stored_.term = term;
        stored_.vote = vote;
        return ok;
    }
    Status append(std::span<const LogEntry> entries) override {
        stored_.entries.insert(stored_.entries.end(), entries.begin(), entries.end());
        return ok;
    }
    Status truncate(std::uint64_t from_index) override {
        stored_.entries.resize(from_index - stored_.first_index);
        return ok;
    }
    Status put_snapshot(const Snapshot& snapshot, std::optional<std::uint64_t> first_kept) override {
        const auto gone = first_kept ? *first_kept - stored_.first_index : stored_.entries.size();
        stored_.entries.erase(stored_.entries.begin(),
                              stored_.entries.begin() + static_cast<std::ptrdiff_t>(gone));
        stored_.first_index = first_kept.value_or(snapshot.index + 1);
        stored_.snapshot = snapshot;
        return ok;
    }
    Result<Snapshot> get_snapshot() override { return *stored_.snapshot; }

private:
    Stored stored_{};
};

void one_message(std::string_view bytes) {
    if (const auto message = parse_message(bytes)) {
        const auto again = parse_message(to_bytes(*message));
        fuzz::require(again.has_value() && *again == *message, "a message is read as it was written");
    }
    if (const auto change = parse_record_change(bytes)) {
        const auto again = parse_record_change(to_bytes(*change));
        fuzz::require(again.has_value() && *again == *change, "a change is read as it was written");
    }
    Records records;
    if (records.restore(bytes, 1000)) {
        fuzz::require_equal(records.save(), bytes, "records are saved as they were");
    }
}

void one_log(std::string_view bytes) {
    std::uint64_t first_index = 1;
    const auto entries = parse_log(bytes, first_index);
    if (entries && !entries->empty()) {
        std::uint64_t again = 0;
        const auto reread = parse_log(log_block(first_index, *entries), again);
        fuzz::require(reread.has_value() && *reread == *entries && again == first_index,
                      "a log that is written anew is the same");
    }
}

// Messages to a voter that has a log, a hostile one's among them: each is a length, and so many bytes.
void one_talk(std::string_view bytes) {
    KeptDisk disk;
    fuzz::require(Voter::found(disk, {{.id = 1, .votes = true}, {.id = 2, .votes = true}}).has_value(),
                  "an empty disk can be begun");
    Voter voter(
        {.self = 1, .random = [](int least, int) { return least; }}, disk,
        [](VoterId, const std::string& message) {
            fuzz::require(parse_message(message).has_value(), "what a voter says is a message");
        },
        [](const std::string&) {});
    (void)voter.open(0);
    std::int64_t now = 0;
    while (bytes.size() >= 2) {
        const auto size = static_cast<std::size_t>(static_cast<unsigned char>(bytes[0]));
        now += static_cast<unsigned char>(bytes[1]) * 10;
        (void)voter.receive(2, bytes.substr(2, size), now);
        voter.propose({.name = "a", .bytes = "b"}, [](const Answer&) {});
        voter.tick(now);
        bytes.remove_prefix(std::min(bytes.size(), 2 + size));
        fuzz::require(!voter.failed(), "no message ends a voter");
    }
}

constexpr std::array<fuzz::Read, 3> book_kinds{one_message, one_log, one_talk};

std::string talk_of(std::initializer_list<Message> messages) {
    std::string talk;
    for (const auto& message : messages) {
        const auto bytes = to_bytes(message);
        talk += static_cast<char>(bytes.size());
        talk += '\xFF';
        talk += bytes;
    }
    return talk;
}

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, book_kinds);
}

std::vector<std::string> fuzz::seeds() {
    const LogEntry first{.term = 1, .type = EntryType::members, .bytes = two_voters};
    const LogEntry barrier{.term = 2, .type = EntryType::barrier};
    const LogEntry command{.term = 2, .bytes = to_bytes(RecordChange{.name = "a", .bytes = "b"})};
    const Snapshot snapshot{.index = 9,
                            .term = 2,
                            .members_index = 1,
                            .members = {{.id = 1, .votes = true}, {.id = 2, .votes = true}},
                            .state = ""};
    const AppendEntries append{
        .term = 2, .before_index = 1, .before_term = 1, .committed = 2, .entries = {barrier, command}};
    const std::array entries{first, barrier, command};
    std::vector<std::string> all;
    for (const Message& message : std::initializer_list<Message>{
             append, AppendResult{.term = 2, .rejected = 1, .last_index = 3},
             RequestVote{.term = 2, .last_index = 1, .last_term = 1, .trial = true},
             VoteResult{.term = 2, .granted = true}, InstallSnapshot{.term = 2, .snapshot = snapshot}}) {
        all.push_back(of_kind(0, to_bytes(message)));
    }
    all.push_back(of_kind(0, command.bytes));
    Records records;
    records.apply({.name = "a", .bytes = "b"}, 3);
    all.push_back(of_kind(0, records.save()));
    all.push_back(
        of_kind(1, log_block(1, std::span(entries).first(2)) + log_block(3, std::span(entries).last(1))));
    // It follows, is contradicted, follows another one, is given a snapshot; it stands and is elected.
    auto other = append;
    other.term = 3;
    other.entries = {{.term = 3, .type = EntryType::barrier}};
    all.push_back(of_kind(2, talk_of({append, other, InstallSnapshot{.term = 4, .snapshot = snapshot}})));
    all.push_back(
        of_kind(2, talk_of({VoteResult{.term = 2}, VoteResult{.term = 2}, VoteResult{.term = 2},
                            VoteResult{.term = 2, .granted = true, .trial = true},
                            VoteResult{.term = 2, .granted = true}, AppendResult{.term = 2, .last_index = 2},
                            AppendResult{.term = 2, .last_index = 3}})));
    return all;
}
