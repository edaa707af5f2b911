// Inside wire/: the parts of messages that more than one of them bears.
#pragma once

#include "shared/wire/fields.hpp"
#include "shared/wire/job.hpp"

#include <map>
#include <optional>
#include <string>

namespace dockdist::wire {

bool has_nul(const std::string& text);
bool are_variables(const std::map<std::string, std::string>& env); // names without '=', no NUL

// A signal by its name, of shared/core/ending_signals.hpp; an empty one leaves it as it is.
std::string signal_word(int number);
void read_signal(ObjectReader& reader, const char* key, int& number);
auto signal_of(auto& number) {
    return by(number, signal_word, read_signal);
}

void read_fields(ObjectReader& reader, JobFailure& failure);
void read_fields(ObjectReader& reader, JobResult& result);
void read_fields(ObjectReader& reader, JobStart& start); // and checks it
void read_fields(ObjectReader& reader, JobPolicy& policy);
void to_json(nlohmann::json& out, const BeforeStart& before);
void read_fields(ObjectReader& reader, BeforeStart& before);

// A job's first failure, with its node: {"node":…,"failure":…}; of results and of orders.
nlohmann::json first_object(const std::optional<JobFailure>& first); // there is one
void read_first(ObjectReader& reader, const char* key, std::optional<JobFailure>& first);
auto first_of(auto& first) {
    return by(first, first_object, read_first);
}

} // namespace dockdist::wire
