#include "node/system/oom.hpp"

#include "node/system/os.hpp"
#include "shared/core/text.hpp"

#include <charconv>

namespace dockdist::node {

std::int64_t oom_kills() {
    for (const auto* path : {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}) {
        if (const auto text = read_file(path, 4096)) {
            return parse_oom_kills(*text);
        }
    }
    return -1;
}

std::int64_t parse_oom_kills(std::string_view text) {
    for (const auto& line : split(text, '\n')) {
        constexpr std::string_view key = "oom_kill ";
        std::int64_t count = 0;
        if (line.starts_with(key) &&
            std::from_chars(line.data() + key.size(), line.data() + line.size(), count).ec == std::errc{}) {
            return count;
        }
    }
    return -1;
}

} // namespace dockdist::node
