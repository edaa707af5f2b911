#include "node/book/records.hpp"

#include "shared/wire/little_endian.hpp"

namespace dockdist::node {
namespace {

constexpr std::size_t length_bytes = sizeof(std::uint32_t);

std::size_t size_of_record(std::string_view name, std::string_view bytes) {
    return length_bytes + name.size() + sizeof(std::uint64_t) + length_bytes + bytes.size();
}

} // namespace

std::string to_bytes(const RecordChange& change) {
    std::string bytes;
    put_text(bytes, change.name);
    wire::put_little_endian(bytes, change.version);
    bytes += static_cast<char>(change.bytes.has_value());
    put_text(bytes, change.bytes.value_or(""));
    return bytes;
}

Result<RecordChange> parse_record_change(std::string_view bytes) {
    ByteReader reader(bytes);
    RecordChange change{.name = std::string(reader.text(longest_record_name))};
    change.version = reader.number(sizeof change.version);
    const auto puts = reader.number(1);
    const auto text = reader.text(most_record_bytes);
    reader.require(!change.name.empty() && puts <= 1 && (puts == 1 || text.empty()));
    if (puts == 1) {
        change.bytes = text;
    }
    if (reader.failed() || !reader.at_end()) {
        return Error{.kind = ErrorKind::protocol, .message = "no change of a record"};
    }
    return change;
}

Applied Records::apply(const RecordChange& change, std::uint64_t index) {
    applied_ = index;
    const auto found = records_.find(change.name);
    const auto version = found == records_.end() ? 0 : found->second.version;
    if (version != change.version) {
        return {.outcome = Applied::Outcome::conflict, .version = version};
    }
    const auto before = version == 0 ? 0 : size_of_record(change.name, found->second.bytes);
    const auto after = change.bytes ? size_of_record(change.name, *change.bytes) : 0;
    if (after > before && size_ - before + after > most_state_bytes) {
        return {.outcome = Applied::Outcome::full, .version = version};
    }
    size_ += after - before;
    if (change.bytes) {
        records_.insert_or_assign(change.name, Record{.version = index, .bytes = *change.bytes});
    } else {
        records_.erase(change.name);
    }
    return {.version = index};
}

std::string Records::save() const {
    std::string state;
    state.reserve(size_);
    for (const auto& [name, record] : records_) {
        put_text(state, name);
        wire::put_little_endian(state, record.version);
        put_text(state, record.bytes);
    }
    return state;
}

Status Records::restore(std::string_view state, std::uint64_t index) {
    ByteReader reader(state);
    std::map<std::string, Record> records;
    while (!reader.failed() && !reader.at_end()) {
        auto name = std::string(reader.text(longest_record_name));
        Record record{.version = reader.number(sizeof record.version)};
        record.bytes = reader.text(most_record_bytes);
        reader.require(!name.empty() && record.version > 0 && record.version <= index &&
                       (records.empty() || records.rbegin()->first < name));
        records.emplace_hint(records.end(), std::move(name), std::move(record));
    }
    if (reader.failed()) {
        return Error{.kind = ErrorKind::protocol, .message = "no records"};
    }
    records_ = std::move(records);
    applied_ = index;
    size_ = state.size();
    return ok;
}

} // namespace dockdist::node
