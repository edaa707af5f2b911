#include "shared/wire/hang.hpp"

#include "shared/wire/fields.hpp"
#include "shared/wire/frame.hpp"

#include <limits>

namespace dockdist::wire {

void fields_of(auto& fields, Of<Hang> auto& hang) {
    fields("attempt", hang.attempt, 0, std::numeric_limits<int>::max());
    fields("cause", hang.cause);
    fields("node", hang.node);
    fields("rank", hang.rank, -1, max_rank);
    fields("where", bytes_of(hang.where));
    fields("awaits", bytes_of(hang.awaits));
    fields("restart_helps", hang.restart_helps);
    fields("text", bytes_of(hang.text));
    fields("hint", bytes_of(hang.hint));
}
DEFINE_BY_FIELDS(Hang)

} // namespace dockdist::wire
