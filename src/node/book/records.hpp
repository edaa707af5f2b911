// What the voters agree on: records by name, each with a version. A change says which version it is meant
// for, so that of two who change the same one is told of the other. Pure, and the same at every voter that
// has applied the same entries.
#pragma once

#include "node/book/entry.hpp"

#include <map>
#include <optional>
#include <string>

namespace dockdist::node {

struct Record {
    std::uint64_t version = 0; // the index of the entry that wrote it: no record ever has the same one twice
    std::string bytes{};
    bool operator==(const Record&) const = default;
};

inline constexpr std::size_t most_record_bytes = 1U << 20U;
inline constexpr std::size_t longest_record_name = 255;

struct RecordChange {
    std::string name{};
    std::uint64_t version = 0;          // of the record that it is for; 0: there is none
    std::optional<std::string> bytes{}; // none: the record goes
    bool operator==(const RecordChange&) const = default;
};
std::string to_bytes(const RecordChange& change);
// Errors (protocol): it is none, its name is empty or too long, its bytes are too many.
Result<RecordChange> parse_record_change(std::string_view bytes);

struct Applied {
    enum class Outcome {
        accepted,
        conflict, // the record is of another version: that which stands here (0: there is none)
        full,     // the records together would be more than most_state_bytes
    };
    Outcome outcome = Outcome::accepted;
    std::uint64_t version = 0;
    bool operator==(const Applied&) const = default;
};

class Records {
public:
    // The entry of that index, of which each is applied once and in order.
    Applied apply(const RecordChange& change, std::uint64_t index);
    const std::map<std::string, Record>& all() const { return records_; }
    std::uint64_t applied() const { return applied_; } // the index of the latest

    std::string save() const;
    // As they were at that index. Errors (protocol): that is no state; nothing has changed.
    Status restore(std::string_view state, std::uint64_t index);

private:
    std::map<std::string, Record> records_{};
    std::uint64_t applied_ = 0;
    std::size_t size_ = 0; // of what save() gives
};

} // namespace dockdist::node
