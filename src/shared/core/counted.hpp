// "1 job", "2 jobs".
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace dockdist {

// For words whose plural is an s.
std::string counted(std::integral auto count, std::string_view what) {
    auto text = std::to_string(count).append(" ").append(what);
    return count == 1 ? text : text + "s";
}

} // namespace dockdist
