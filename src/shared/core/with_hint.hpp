// What else may be done, beside what the hints say.
#pragma once

#include "shared/core/error.hpp"

#include <string_view>

namespace dockdist {

inline Errors with_hint(Errors errors, std::string_view hint) {
    for (auto& error : errors) {
        error.hint += error.hint.empty() ? "" : "; ";
        error.hint += hint;
    }
    return errors;
}

} // namespace dockdist
