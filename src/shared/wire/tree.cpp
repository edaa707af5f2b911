#include "shared/wire/tree.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/fields.hpp"
#include "shared/wire/little_endian.hpp"

#include <algorithm>

namespace dockdist::wire {
namespace {

constexpr std::size_t longest_entry = 4095;
constexpr std::size_t longest_component = 255;
constexpr std::string_view kinds = "OLHRMTWQUSG.DKFBEoehswp!";
constexpr std::string_view types{"\0fdlo", 5};

void append(std::string& out, const SyncMessage& head, std::string_view text) {
    put_little_endian(out, static_cast<std::uint32_t>(sync_header - 4 + head.name.size() + text.size()));
    out += static_cast<char>(head.kind);
    out += static_cast<char>(head.type);
    put_little_endian(out, head.mode);
    put_little_endian(out, head.size);
    put_little_endian(out, head.time_ns);
    put_little_endian(out, static_cast<std::uint16_t>(head.name.size()));
    out += head.name;
    out += text;
}

Error damaged_tree_message(std::string message) {
    return {.kind = ErrorKind::protocol,
            .message = std::move(message),
            .hint = "the stream was damaged, or something other than dockdist wrote to it"};
}

} // namespace

bool is_tree_name(std::string_view name) {
    if (name.empty() || name.size() > longest_entry || name.find('\0') != std::string_view::npos) {
        return false;
    }
    while (true) {
        const auto slash = name.find('/');
        const auto component = name.substr(0, slash);
        if (component.empty() || component == "." || component == ".." ||
            component.size() > longest_component) {
            return false;
        }
        if (slash == std::string_view::npos) {
            return true;
        }
        name.remove_prefix(slash + 1);
    }
}

bool stays_in_tree(std::string_view link, std::string_view target) {
    if (target.empty() || target.front() == '/' || target.size() > longest_entry ||
        target.find('\0') != std::string_view::npos) {
        return false;
    }
    auto up = std::ranges::count(link, '/'); // folders between the link and the tree's own
    bool down = false;
    for (const auto& component : split(target, '/')) {
        if (component == "..") {
            if (down || --up < 0) {
                return false;
            }
        } else if (!component.empty() && component != ".") {
            down = true;
        }
    }
    return true;
}

bool is_temporary(std::string_view name) {
    const auto last = name.substr(name.rfind('/') + 1);
    return last.starts_with(temporary_prefix) || last.starts_with(begun_prefix);
}

void append(std::string& out, const SyncMessage& message) {
    append(out, message, message.text);
}

void append_data(std::string& out, std::string_view bytes) {
    append(out, {.kind = SyncMessage::Kind::data}, bytes);
}

SyncMessage to_message(SyncMessage::Kind kind, const TreeEntry& entry) {
    return {.kind = kind,
            .type = entry.type,
            .mode = entry.mode,
            .size = entry.size,
            .time_ns = entry.time_ns,
            .name = entry.name,
            .text = entry.target};
}

TreeEntry to_entry(SyncMessage message) {
    return {.name = std::move(message.name),
            .type = message.type,
            .mode = message.mode,
            .size = message.size,
            .time_ns = message.time_ns,
            .target = std::move(message.text)};
}

Result<std::optional<SyncMessage>> SyncDecoder::next() {
    const auto rest = unread_.view();
    if (rest.size() < 4) {
        return std::optional<SyncMessage>{};
    }
    const auto length = get_little_endian(rest.substr(0, 4));
    if (length < sync_header - 4 || length > max_sync_message) {
        return damaged_tree_message("a message of " + std::to_string(length) + " bytes");
    }
    if (rest.size() < 4 + length) {
        return std::optional<SyncMessage>{};
    }
    const auto data = rest.substr(4, length);
    const auto name_length = get_little_endian(data.substr(22, 2));
    if (kinds.find(data[0]) == std::string_view::npos || types.find(data[1]) == std::string_view::npos ||
        sync_header - 4 + name_length > length) {
        return damaged_tree_message("a message that is not of the protocol");
    }
    SyncMessage message{.kind = static_cast<SyncMessage::Kind>(data[0]),
                        .type = static_cast<TreeEntry::Type>(data[1]),
                        .mode = static_cast<std::uint32_t>(get_little_endian(data.substr(2, 4))),
                        .size = get_little_endian(data.substr(6, 8)),
                        .time_ns = static_cast<std::int64_t>(get_little_endian(data.substr(14, 8))),
                        .name = std::string(data.substr(24, name_length))};
    message.text = data.substr(24 + name_length);
    if (!message.name.empty() && !is_tree_name(message.name)) {
        return damaged_tree_message("`" + printable(message.name.substr(0, 200)) +
                                    "` leads out of its folder");
    }
    if (message.mode > 0777) {
        return damaged_tree_message("a mode beyond the permission bits");
    }
    unread_.take(4 + length);
    return std::optional<SyncMessage>(std::move(message));
}

void fields_of(auto& fields, Of<SyncOpening> auto& opening) {
    fields("user", bytes_of(opening.user));
    fields("workdir", bytes_of(opening.workdir));
}

std::string sync_opening(const SyncOpening& opening) {
    return text_of(opening);
}

Result<SyncOpening> parse_sync_opening(std::string_view text) {
    return parse<SyncOpening>(text, "the argument");
}

} // namespace dockdist::wire
