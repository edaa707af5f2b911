// What an engine's refusal means for a person.
#pragma once

#include "engine/http/message.hpp"

#include <string_view>

namespace dockdist {

// Of an answer whose status is not a success. `what` is what was tried: "create container vision-a". Without
// `where`.
Error engine_error(const HttpResponse& response, std::string_view what);

// What to do about an engine's message; empty when it is none that we know.
std::string engine_hint(std::string_view message);

} // namespace dockdist
