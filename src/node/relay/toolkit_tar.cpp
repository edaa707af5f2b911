#include "node/relay/toolkit_tar.hpp"

#include "node/system/os.hpp"
#include "shared/core/new_file.hpp"
#include "shared/wire/relay_image.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr const char* last_entry = "bin/dockdist-init";

Error no_toolkit(const std::string& path) {
    return {ErrorKind::node, "", path + " is not as a toolkit has it", ""};
}

Status add_entries(const std::string& folder, const std::string& name, std::vector<UstarEntry>& entries) {
    const auto path = folder + "/" + name;
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
        return system_error(path, errno);
    }
    UstarEntry entry{.name = name, .mode = status.st_mode & 07777U};
    if (S_ISDIR(status.st_mode)) {
        entry.type = UstarEntry::Type::folder;
    } else if (S_ISLNK(status.st_mode)) {
        entry.type = UstarEntry::Type::link;
        entry.link = read_link(path);
    } else if (S_ISREG(status.st_mode)) {
        entry.size = status.st_size;
    } else {
        return no_toolkit(path);
    }
    if (name.size() > longest_ustar_name || entry.link.size() > longest_ustar_name) {
        return no_toolkit(path);
    }
    const bool is_folder = entry.type == UstarEntry::Type::folder;
    entries.push_back(std::move(entry));
    if (is_folder) {
        for (const auto& each : list_folder(path)) {
            if (auto added = add_entries(folder, name + "/" + each, entries); !added) {
                return added;
            }
        }
    }
    return ok;
}

Status copy_entry(const UstarEntry& entry, const std::string& from, const std::string& to) {
    const auto path = to + "/" + entry.name;
    if (entry.type == UstarEntry::Type::folder) {
        return make_folder(path, entry.mode, {::geteuid(), ::getegid()});
    }
    if (entry.type == UstarEntry::Type::link) {
        const auto slash = path.rfind('/');
        const Fd folder(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        return replace_link(folder.get(), path.substr(slash + 1), entry.link) ? Status(ok)
                                                                              : system_error(path, errno);
    }
    const auto content = read_file(from + "/" + entry.name);
    TRY(content);
    return replace_file(path, *content, entry.mode, {::geteuid(), ::getegid()});
}

} // namespace

Result<std::vector<UstarEntry>> toolkit_entries(const std::string& folder) {
    std::vector<UstarEntry> entries;
    for (const char* name : {"bin", "lib", "libexec"}) {
        TRY(add_entries(folder, name, entries));
    }
    std::ranges::sort(entries, {}, &UstarEntry::name); // lib-x stands before lib/x in the tar
    const auto last = std::ranges::find(entries, last_entry, &UstarEntry::name);
    if (last == entries.end()) {
        return no_toolkit(folder);
    }
    std::rotate(last, last + 1, entries.end());
    return entries;
}

Result<std::vector<UstarEntry>> relay_image_entries(const std::string& folder) {
    struct stat status{};
    if (::lstat((folder + wire::relay_program).c_str(), &status) != 0) {
        return system_error(wire::relay_program, errno);
    }
    return std::vector<UstarEntry>{
        {.name = wire::relay_program + 1, .mode = wire::relay_program_mode, .size = status.st_size},
        {.type = UstarEntry::Type::folder,
         .name = wire::relay_folder + 1,
         .mode = wire::relay_folder_mode,
         .owner = wire::relay_account}};
}

std::int64_t tar_size(const std::vector<UstarEntry>& entries) {
    auto size = ustar_end().size();
    for (const auto& entry : entries) {
        size +=
            ustar_header(entry).size() + static_cast<std::size_t>(entry.size) + ustar_padding(entry).size();
    }
    return static_cast<std::int64_t>(size);
}

Status copy_toolkit(const std::string& from, const std::string& to) {
    const auto entries = toolkit_entries(from);
    TRY(entries);
    for (const auto& entry : *entries) {
        if (auto copied = copy_entry(entry, from, to); !copied) {
            return copied;
        }
    }
    return ok;
}

} // namespace dockdist::node
