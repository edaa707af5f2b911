#include "shared/wire/hang.hpp"

#include "shared/wire/frame.hpp"
#include "shared/wire/json_reader.hpp"

#include <limits>

namespace dockdist::wire {

void to_json(nlohmann::json& json, const Hang& hang) {
    json = {{"attempt", hang.attempt},
            {"cause", hang.cause},
            {"node", hang.node},
            {"rank", hang.rank},
            {"where", bytes_to_json(hang.where)},
            {"awaits", bytes_to_json(hang.awaits)},
            {"restart_helps", hang.restart_helps},
            {"text", bytes_to_json(hang.text)},
            {"hint", bytes_to_json(hang.hint)}};
}

void read_fields(ObjectReader& reader, Hang& hang) {
    reader.read("attempt", hang.attempt, 0, std::numeric_limits<int>::max());
    reader.read("cause", hang.cause);
    reader.read("node", hang.node);
    reader.read("rank", hang.rank, -1, max_rank);
    reader.read_bytes("where", hang.where);
    reader.read_bytes("awaits", hang.awaits);
    reader.read("restart_helps", hang.restart_helps);
    reader.read_bytes("text", hang.text);
    reader.read_bytes("hint", hang.hint);
}

} // namespace dockdist::wire
