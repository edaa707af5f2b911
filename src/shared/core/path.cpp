#include "shared/core/path.hpp"

#include <filesystem>

namespace dockdist {

std::string normal_path(const std::string& path) {
    auto text = std::filesystem::path(path).lexically_normal().string();
    while (text.size() > 1 && text.back() == '/') {
        text.pop_back();
    }
    return text;
}

bool is_in_folder(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

} // namespace dockdist
