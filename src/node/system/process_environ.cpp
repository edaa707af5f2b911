#include "node/system/process_environ.hpp"

#include "node/system/as_owner.hpp"
#include "node/system/os.hpp"

#include <algorithm>

namespace dockdist::node {

std::string read_process_environ(pid_t pid) {
    constexpr std::size_t longest = 4U << 20U;
    const auto path = "/proc/" + std::to_string(pid) + "/environ";
    auto text = read_file(path, longest);
    if (!text) {
        const AsOwner owner(pid);
        text = read_file(path, longest);
    }
    return text ? std::move(*text) : std::string();
}

std::string variable_in(std::string_view block, std::string_view name) {
    while (!block.empty()) {
        const auto end = std::min(block.find('\0'), block.size());
        const auto entry = block.substr(0, end);
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
            return std::string(entry.substr(name.size() + 1));
        }
        block.remove_prefix(std::min(end + 1, block.size()));
    }
    return {};
}

} // namespace dockdist::node
