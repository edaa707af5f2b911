#include "relay/relay_program.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <vector>

namespace dockdist {
namespace {

struct FreeArchive {
    void operator()(archive* a) const { ::archive_free(a); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

bool write_folder(archive* to, const TarFolder& folder) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(),
                                                                         ::archive_entry_free);
    ::archive_entry_set_pathname(entry.get(), folder.name.c_str());
    ::archive_entry_set_filetype(entry.get(), AE_IFDIR);
    ::archive_entry_set_perm(entry.get(), 0700);
    ::archive_entry_set_uid(entry.get(), folder.owner);
    ::archive_entry_set_gid(entry.get(), folder.owner);
    return ::archive_write_header(to, entry.get()) == ARCHIVE_OK;
}

} // namespace

Result<std::string> relay_program(std::span<const char> toolkit_tar) {
    return tar_of_one({toolkit_tar.data(), toolkit_tar.size()}, "libexec/dockdist-init", "dockdist-init",
                      {.name = std::string(relay_folder).substr(1), .owner = relay_account});
}

Result<std::string> tar_of_one(std::string_view tar, const std::string& name, const std::string& new_name,
                               const TarFolder& folder) {
    const Archive reader(::archive_read_new());
    ::archive_read_support_format_tar(reader.get());
    Error missing{ErrorKind::internal, "", "the toolkit has no " + name, ""};
    if (::archive_read_open_memory(reader.get(), tar.data(), tar.size()) != ARCHIVE_OK) {
        return missing;
    }
    archive_entry* entry = nullptr;
    while (::archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK) {
        if (::archive_entry_pathname(entry) != name) {
            continue;
        }
        std::vector<char> content(static_cast<std::size_t>(::archive_entry_size(entry)));
        if (::archive_read_data(reader.get(), content.data(), content.size()) !=
            static_cast<la_ssize_t>(content.size())) {
            return missing;
        }
        std::string bytes(content.size() + (64U << 10U), '\0');
        std::size_t used = 0;
        const Archive writer(::archive_write_new());
        ::archive_write_set_format_ustar(writer.get());
        if (::archive_write_open_memory(writer.get(), bytes.data(), bytes.size(), &used) != ARCHIVE_OK) {
            return missing;
        }
        ::archive_entry_set_pathname(entry, new_name.c_str());
        if (::archive_write_header(writer.get(), entry) != ARCHIVE_OK ||
            ::archive_write_data(writer.get(), content.data(), content.size()) < 0 ||
            !write_folder(writer.get(), folder) || ::archive_write_close(writer.get()) != ARCHIVE_OK) {
            return missing;
        }
        bytes.resize(used);
        return bytes;
    }
    return missing;
}

} // namespace dockdist
