// Which cluster.yaml a command is about, and whether it may be.
#include "client/cli/context.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trusted_path.hpp"

#include <fmt/format.h>

namespace dockdist {

Result<ChosenFile> file_of(const GlobalOptions& options) {
    if (!options.file.empty()) {
        return ChosenFile{options.file};
    }
    if (const auto named = client_environment("DOCKDIST_FILE"); named && !named->empty()) {
        return ChosenFile{*named};
    }
    std::error_code failed;
    const auto here = std::filesystem::current_path(failed);
    if (failed) {
        return Error{ErrorKind::config, "", "the working directory no longer exists",
                     "change into one that exists, or name the file with --file"};
    }
    auto found = find_spec_file(here);
    return found ? Result<ChosenFile>(ChosenFile{std::move(*found), true}) : found.error();
}

Result<SpecText> read_chosen(const ChosenFile& file) {
    auto text = read_spec(file.path);
    if (!text || !file.found) {
        return text;
    }
    if (const auto other = other_writer_of_found(file.path, text->status)) {
        return Error{ErrorKind::config, printable(file.path.string()), "found, but not used: " + other->text,
                     fmt::format("a file that you do not name must be writable by you alone, and so must its "
                                 "folder: see who can write there, then name it (`dockdist -f {} …`, or "
                                 "DOCKDIST_FILE), or make it yours (chown, chmod go-w)",
                                 shell_quote(printable(file.path.string())))};
    }
    return text;
}

Result<SpecText> read_file_of(const GlobalOptions& options) {
    const auto file = file_of(options);
    return file ? read_chosen(*file) : file.error();
}

} // namespace dockdist
