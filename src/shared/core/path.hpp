// Absolute paths as text: nothing is looked up.
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

// Without "." and "..", double slashes and a slash at the end.
std::string normal_path(const std::string& path);

// Both normal: "/a" and "/a/b" are in "/a", "/ab" is not.
bool is_in_folder(std::string_view path, std::string_view folder);

} // namespace dockdist
