// Inside wire/: the parts of messages that more than one of them bears.
#pragma once

#include "shared/wire/job.hpp"
#include "shared/wire/json_reader.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::wire {

nlohmann::json bytes_object(const std::map<std::string, std::string>& values);
bool has_nul(const std::string& text);
bool are_variables(const std::map<std::string, std::string>& env); // names without '=', no NUL

// "signal", of shared/core/ending_signals.hpp; left out where it is the usual one.
void write_signal(nlohmann::json& out, int signal, int usual);
void read_signal(ObjectReader& reader, int& signal);

void read_failure(ObjectReader& reader, JobFailure& failure);
void read_result(ObjectReader& reader, JobResult& result);
void read_start(ObjectReader& reader, JobStart& start); // and checks it
void read_policy(ObjectReader& reader, JobPolicy& policy);
void write_before(nlohmann::json& out, const BeforeStart& before);
void read_before(ObjectReader& reader, BeforeStart& before);
// {"first":{"node":…,"failure":…}}, of results and of orders.
void read_first(ObjectReader& reader, std::optional<JobFailure>& first);
nlohmann::json first_object(const JobFailure& first);

} // namespace dockdist::wire
