// A program that a node runs because its output tells something about the node: a version, the GPUs there.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

// What runs it, as whom and for how long stands where it is asked: JobOpening, FactsQuestion.
struct Question {
    std::string name{}; // under which the answer stands
    std::vector<std::string> argv{};
};

void to_json(nlohmann::json& json, const Question& question);
void read_fields(ObjectReader& reader, Question& question);

} // namespace dockdist::wire
