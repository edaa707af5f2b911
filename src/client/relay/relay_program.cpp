#include "client/relay/relay_program.hpp"

#include "shared/core/ustar.hpp"
#include "shared/digest/sha256.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

namespace dockdist {
namespace {

struct FreeArchive {
    void operator()(archive* a) const { ::archive_free(a); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

// The client waits for this, and nothing else: little effort brings most of it.
Result<std::string> gzip(const std::string& bytes) {
    std::string packed(bytes.size() + (64U << 10U), '\0');
    std::size_t used = 0;
    const Archive writer(::archive_write_new());
    const Entry entry(::archive_entry_new(), ::archive_entry_free);
    ::archive_entry_set_pathname(entry.get(), "tar");
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    const bool done =
        ::archive_write_set_format_raw(writer.get()) == ARCHIVE_OK &&
        ::archive_write_add_filter_gzip(writer.get()) == ARCHIVE_OK &&
        ::archive_write_set_options(writer.get(), "gzip:compression-level=1,gzip:!timestamp") == ARCHIVE_OK &&
        ::archive_write_set_bytes_in_last_block(writer.get(), 1) == ARCHIVE_OK &&
        ::archive_write_open_memory(writer.get(), packed.data(), packed.size(), &used) == ARCHIVE_OK &&
        ::archive_write_header(writer.get(), entry.get()) == ARCHIVE_OK &&
        ::archive_write_data(writer.get(), bytes.data(), bytes.size()) ==
            static_cast<la_ssize_t>(bytes.size()) &&
        ::archive_write_close(writer.get()) == ARCHIVE_OK;
    if (!done) {
        return Error{ErrorKind::internal, "", "the relay's program could not be packed", ""};
    }
    packed.resize(used);
    return packed;
}

} // namespace

Result<RelayProgram> make_relay_program(std::span<const char> toolkit_tar) {
    const std::string name = wire::relay_program + 1;
    const auto tar = tar_of_one({toolkit_tar.data(), toolkit_tar.size()}, "libexec/" + name, name,
                                {.name = relay_folder + 1, .owner = relay_account});
    TRY(tar);
    auto packed = gzip(*tar);
    TRY(packed);
    return RelayProgram{.tar = std::move(*packed), .digest = sha256_of(*tar)};
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
        const UstarEntry program{
            .name = new_name, .mode = wire::relay_program_mode, .size = ::archive_entry_size(entry)};
        std::string content(static_cast<std::size_t>(program.size), '\0');
        if (::archive_read_data(reader.get(), content.data(), content.size()) !=
            static_cast<la_ssize_t>(content.size())) {
            return missing;
        }
        return ustar_header(program) + content + ustar_padding(program) +
               ustar_header({.type = UstarEntry::Type::folder,
                             .name = folder.name,
                             .mode = wire::relay_folder_mode,
                             .owner = static_cast<std::uint32_t>(folder.owner)}) +
               ustar_end();
    }
    return missing;
}

} // namespace dockdist
