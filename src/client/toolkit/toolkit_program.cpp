#include "client/toolkit/toolkit_program.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

namespace dockdist {

Result<std::string> toolkit_program(const Toolkit& toolkit, std::string_view name) {
    struct Free {
        void operator()(archive* a) const { ::archive_free(a); }
    };
    const std::unique_ptr<archive, Free> tar(::archive_read_new());
    const auto bytes = toolkit.tar();
    ::archive_read_support_format_tar(tar.get());
    if (::archive_read_open_memory(tar.get(), bytes.data(), bytes.size()) == ARCHIVE_OK) {
        archive_entry* entry = nullptr;
        while (::archive_read_next_header(tar.get(), &entry) == ARCHIVE_OK) {
            const auto* const path = ::archive_entry_pathname(entry);
            if (path == nullptr || path != name) {
                continue;
            }
            std::string program(static_cast<std::size_t>(::archive_entry_size(entry)), '\0');
            if (::archive_read_data(tar.get(), program.data(), program.size()) ==
                static_cast<la_ssize_t>(program.size())) {
                return program;
            }
            break;
        }
    }
    return Error{ErrorKind::internal, "", "this dockdist has no " + std::string(name) + " in its toolkit",
                 ""};
}

} // namespace dockdist
