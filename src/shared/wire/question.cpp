#include "shared/wire/question.hpp"

#include "shared/wire/fields.hpp"

namespace dockdist::wire {

void fields_of(auto& fields, Of<Question> auto& question) {
    fields("name", question.name);
    fields("argv", bytes_of(question.argv));
}
DEFINE_BY_FIELDS(Question)

} // namespace dockdist::wire
