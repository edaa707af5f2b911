#include "shared/wire/stack_frame.hpp"

#include "shared/core/text.hpp"
#include "shared/core/utf8.hpp"
#include "shared/wire/json_reader.hpp"

#include <limits>

namespace dockdist::wire {

std::string stack_word(std::string_view text) {
    const auto shown = printable(text.substr(0, longest_stack_word));
    return shown.substr(0, utf8_prefix(shown, longest_stack_word));
}

nlohmann::json frame_object(const StackFrame& frame) {
    return {{"function", frame.function}, {"file", frame.file}, {"line", frame.line}};
}

void read_frame(ObjectReader& reader, StackFrame& frame) {
    reader.read("function", frame.function, longest_stack_word);
    reader.read("file", frame.file, longest_stack_word);
    reader.read("line", frame.line, 0, std::numeric_limits<int>::max());
}

} // namespace dockdist::wire
