#include "core/regular_file.hpp"

#include <fstream>
#include <iterator>

namespace dockdist {

std::optional<std::string> read_regular_file(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
        return std::nullopt;
    }
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    return file ? std::optional(std::move(text)) : std::nullopt;
}

} // namespace dockdist
