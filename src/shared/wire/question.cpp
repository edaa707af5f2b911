#include "shared/wire/question.hpp"

#include "shared/wire/json_reader.hpp"

namespace dockdist::wire {

void to_json(nlohmann::json& json, const Question& question) {
    json = {{"name", question.name}, {"argv", bytes_array(question.argv)}};
}

void read_fields(ObjectReader& reader, Question& question) {
    reader.read("name", question.name);
    reader.read_bytes("argv", question.argv);
}

} // namespace dockdist::wire
