#include "client/engine/buildkit/folder_sender.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <sys/stat.h>
#include <unordered_set>
#include <utility>

namespace dockdist {
namespace {

enum Kind : std::uint32_t { stat_of = 0, request = 1, data = 2, done = 3, failed = 4 };

// Go's os.FileMode.
std::uint32_t go_mode(std::uint32_t mode) {
    constexpr std::uint32_t folder = 1U << 31U, link = 1U << 27U, set_user = 1U << 23U, set_group = 1U << 22U,
                            sticky = 1U << 20U;
    return (mode & 0777U) | (S_ISDIR(mode) ? folder : 0U) | (S_ISLNK(mode) ? link : 0U) |
           ((mode & S_ISUID) != 0 ? set_user : 0U) | ((mode & S_ISGID) != 0 ? set_group : 0U) |
           ((mode & S_ISVTX) != 0 ? sticky : 0U);
}

std::string stat_message(const BuildFile& file) {
    std::string stat;
    protozero::pbf_writer fields(stat);
    fields.add_string(1, file.name);
    fields.add_uint32(2, go_mode(file.mode));
    if (S_ISREG(file.mode)) {
        fields.add_int64(5, static_cast<std::int64_t>(file.size));
    }
    fields.add_int64(6, file.time);
    if (!file.target.empty()) {
        fields.add_string(7, file.target);
    }
    std::string message;
    protozero::pbf_writer(message).add_message(2, stat);
    return message;
}

std::string data_message(std::uint32_t id, const std::string& bytes) {
    std::string message;
    protozero::pbf_writer fields(message);
    fields.add_enum(1, data);
    fields.add_uint32(3, id);
    if (!bytes.empty()) { // the end of the file has none
        fields.add_bytes(4, bytes);
    }
    return message;
}

using Names = std::unordered_set<std::string_view>; // of what lives longer

// Whether one of them is `name` or a folder that it lies in.
bool reaches(const Names& names, std::string_view name) {
    while (!names.contains(name)) {
        const auto slash = name.rfind('/');
        if (slash == std::string_view::npos) {
            return false;
        }
        name = name.substr(0, slash);
    }
    return true;
}

std::string plain(std::string path) {
    while (path.starts_with("./")) {
        path.erase(0, 2);
    }
    while (path.starts_with('/')) {
        path.erase(0, 1);
    }
    while (path.ends_with('/')) {
        path.pop_back();
    }
    return path == "." ? "" : path;
}

} // namespace

FolderSender::FolderSender(std::shared_ptr<BuildFiles> files, const std::vector<std::string>& only)
    : files_(std::move(files)) {
    const auto& list = files_->list();
    Names links;
    for (const auto& file : list) {
        if (S_ISLNK(file.mode)) {
            links.insert(file.name);
        }
    }
    std::vector<std::string> paths;
    std::ranges::transform(only, std::back_inserter(paths), plain);
    // A link on the way to a path, or a pattern: the engine would have to be told where it leads.
    const bool all =
        paths.empty() || std::ranges::any_of(paths, [&](const std::string& path) {
            return path.empty() || path.find_first_of("*?[\\%") != std::string::npos || reaches(links, path);
        });
    Names wanted, above; // the paths; the folders on the way there
    for (const std::string_view path : paths) {
        wanted.insert(path);
        for (auto slash = path.rfind('/'); slash != std::string_view::npos && slash > 0;
             slash = path.rfind('/', slash - 1)) {
            if (!above.insert(path.substr(0, slash)).second) {
                break; // those above it are there
            }
        }
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (all || reaches(wanted, list[i].name) || (S_ISDIR(list[i].mode) && above.contains(list[i].name))) {
            chosen_.push_back(i);
        }
    }
    asked_.resize(chosen_.size());
}

Status FolderSender::take(std::string_view bytes) {
    constexpr auto number = [](protozero::pbf_tag_type field) {
        return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
    };
    std::uint64_t kind = stat_of, id = 0;
    std::string text;
    try {
        protozero::pbf_reader message(bytes.data(), bytes.size());
        while (message.next()) {
            if (message.tag_and_type() == number(1)) {
                kind = message.get_uint64();
            } else if (message.tag_and_type() == number(3)) {
                id = message.get_uint64();
            } else if (message.tag_and_type() ==
                       protozero::tag_and_type(4, protozero::pbf_wire_type::length_delimited)) {
                text = message.get_string();
            } else {
                message.skip();
            }
        }
    } catch (const protozero::exception&) {
        return Error{ErrorKind::protocol, "", "the engine's request for build files cannot be read", ""};
    }
    constexpr std::size_t longest = 300;
    switch (kind) {
    case request:
        if (id >= chosen_.size() || !S_ISREG(files_->list()[chosen_[id]].mode)) {
            return Error{ErrorKind::protocol, "", "the engine asks for a file that it was not offered", ""};
        }
        if (!asked_[id]) {
            asked_[id] = true;
            wanted_.push_back(static_cast<std::uint32_t>(id));
        }
        return ok;
    case done:
        engine_done_ = true;
        return ok;
    case failed:
        return Error{ErrorKind::engine, "",
                     "the engine cannot take the build's files: " + printable(text.substr(0, longest)), ""};
    default:
        return Error{ErrorKind::protocol, "", "the engine sent an unknown request for build files", ""};
    }
}

Result<std::optional<std::string>> FolderSender::next() {
    if (told_ < chosen_.size()) {
        return std::optional(stat_message(files_->list()[chosen_[told_++]]));
    }
    if (told_ == chosen_.size()) { // one without a file ends the list: no field of it differs from nothing
        ++told_;
        return std::optional(std::string());
    }
    if (!wanted_.empty()) {
        const auto id = wanted_.front();
        const auto bytes = files_->read(chosen_[id], offset_, piece);
        TRY(bytes);
        offset_ += bytes->size();
        sent_ += bytes->size();
        if (bytes->empty()) {
            wanted_.pop_front();
            offset_ = 0;
        }
        return std::optional(data_message(id, *bytes));
    }
    if (engine_done_ && !ended_) {
        ended_ = true;
        std::string message;
        protozero::pbf_writer(message).add_enum(1, done);
        return std::optional(message);
    }
    return std::optional<std::string>();
}

} // namespace dockdist
