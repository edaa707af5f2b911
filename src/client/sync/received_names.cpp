#include "client/sync/received_names.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/tree.hpp"

#include <climits>

#include <algorithm>

namespace dockdist {
namespace {

Error names_error(std::string_view name, const char* what) {
    return {.kind = ErrorKind::protocol,
            .message = "`" + printable(name.substr(0, 200)) + "` " + what,
            .hint = "the node violates the protocol: nothing more is accepted from it"};
}

// Depth first, each folder by the bytes of its names: '/' sorts before every other byte.
bool comes_before(std::string_view one, std::string_view other) {
    const auto rank = [](char c) { return c == '/' ? 0U : 1U + static_cast<unsigned char>(c); };
    return std::ranges::lexicographical_compare(one, other, {}, rank, rank);
}

} // namespace

Status ReceivedNames::take(std::string_view name) {
    if (!wire::is_tree_name(name) || wire::is_temporary(name)) {
        return names_error(name, "is not the name of a file");
    }
    if (!last_.empty() && !comes_before(last_, name)) {
        return names_error(name, "comes a second time, or out of order");
    }
    if (name.size() >= PATH_MAX) { // so are few folders open at a time
        return names_error(name, "goes on: a path has at most 4095 bytes");
    }
    if (left_ == 0) {
        return names_error(name, "is one name too many: no such number of files is taken");
    }
    --left_;
    while (!open_.empty() && !name.starts_with(open_.back().name + "/")) {
        open_.pop_back();
    }
    last_ = name;
    return ok;
}

Status ReceivedNames::take_folder(std::string_view name) {
    if (auto taken = take(name); !taken) {
        return taken;
    }
    open_.push_back({.name = std::string(name)});
    return ok;
}

Result<bool> ReceivedNames::end_folder(std::string_view name) {
    const auto found = std::ranges::find(open_, name, &OpenFolder::name);
    if (found == open_.end()) {
        return names_error(name, "is given a mode, and is not a folder that has just come");
    }
    const bool made = found->made;
    open_.erase(found, open_.end());
    return made;
}

} // namespace dockdist
