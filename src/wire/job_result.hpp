// Inside wire/: the parts of messages that more than one of them bears.
#pragma once

#include "wire/job.hpp"
#include "wire/json_reader.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::wire {

nlohmann::json bytes_array(const std::vector<std::string>& values);
nlohmann::json bytes_object(const std::map<std::string, std::string>& values);
bool has_nul(const std::string& text);
bool are_variables(const std::map<std::string, std::string>& env); // names without '=', no NUL

// The objects of an array; nothing when it is missing or wrong.
template <class Read>
void read_objects(ObjectReader& reader, const char* key, Read read) {
    const auto* items = reader.array(key);
    if (items == nullptr) {
        return;
    }
    for (const auto& item : *items) {
        if (!item.is_object()) {
            return reader.fail(std::string("\"") + key + "\" must be an array of objects");
        }
        ObjectReader nested(item, key);
        read(nested);
        if (nested.failed()) {
            return reader.fail(nested.error().message);
        }
    }
}

// The object under `key`; nothing when it is missing or wrong.
template <class Read>
void read_object(ObjectReader& reader, const char* key, Read read) {
    const auto* object = reader.object(key);
    if (object == nullptr) {
        return;
    }
    ObjectReader nested(*object, key);
    read(nested);
    if (nested.failed()) {
        reader.fail(nested.error().message);
    }
}

void read_failure(ObjectReader& reader, JobFailure& failure);
void read_result(ObjectReader& reader, JobResult& result);
void read_start(ObjectReader& reader, JobStart& start); // and checks it
void read_policy(ObjectReader& reader, JobPolicy& policy);
// {"first":{"node":…,"failure":…}}, of results and of orders.
void read_first(ObjectReader& reader, std::optional<JobFailure>& first);
nlohmann::json first_object(const JobFailure& first);

} // namespace dockdist::wire
