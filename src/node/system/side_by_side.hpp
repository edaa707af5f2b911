// Work that may hang (a driver, a mount, a login), each in a process of its own, all at the same time.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dockdist::node {

struct Part {
    std::string name{};
    std::function<nlohmann::json()> work{}; // in a child of this process: what it changes here is lost
};

// What the parts returned, under their names, when the last one has ended or `limit_ms` is over. Of a part
// that came to no end, or died: {"error":{kind, message, hint}}. One that cannot even be killed (a dead
// mount) is left behind. Not for PID 1.
nlohmann::json side_by_side(const std::vector<Part>& parts, int limit_ms);

// work(0) … work(count − 1), shared out among `at_once` such processes at most: an array of what they
// returned, in any order. What a process had to do that died or came to no end is missing, all of it.
nlohmann::json shared_out(std::size_t count, std::size_t at_once,
                          const std::function<nlohmann::json(std::size_t)>& work, int limit_ms);

} // namespace dockdist::node
