#include "client/image/context_folder.hpp"

#include "client/image/context_walk.hpp"
#include "shared/core/text.hpp"
#include "shared/tree/read_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <utility>

namespace dockdist {
namespace {

// A Dockerfile's name below the folder, as the engine wants it; empty when it leaves the folder.
std::string name_below(std::string_view name) {
    const auto path = std::filesystem::path(name).lexically_normal();
    const auto text = path.string();
    const bool below = !text.empty() && text != "." && path.is_relative() && *path.begin() != "..";
    return below && !text.ends_with('/') ? text : std::string();
}

// What it leads to, below the folder.
Result<std::string> check_dockerfile(const std::string& folder, const std::string& name) {
    namespace fs = std::filesystem;
    const auto path = fs::path(folder) / name;
    std::error_code error;
    const auto real = fs::canonical(path, error);
    if (error || !fs::is_regular_file(real, error)) {
        const bool absent = !fs::exists(fs::symlink_status(path, error));
        return Error{ErrorKind::config, printable(path.string()),
                     absent ? "there is no Dockerfile of that name" : "is not a file that can be read",
                     "a build needs a Dockerfile: write one there, or name the one that is meant"};
    }
    const auto root = fs::canonical(folder, error);
    if (std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first != root.end()) {
        return Error{ErrorKind::config, printable(path.string()),
                     "is a link out of the folder, where the engine cannot follow it",
                     "put a copy into the folder"};
    }
    return real.lexically_relative(root).string();
}

// Nothing when there is no such file.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.open()) {
        return errno == ENOENT ? Result<std::optional<std::string>>(std::nullopt)
                               : unreadable_for_build(path, errno);
    }
    const auto text = read_piece(file.get(), std::size_t{4} << 20U);
    if (!text) {
        return unreadable_for_build(path, errno);
    }
    return std::optional(*text);
}

Status read_rules(ContextFolder& context) {
    auto path = (std::filesystem::path(context.path) / (context.dockerfile + ".dockerignore")).string();
    auto lines = read_if_there(path);
    context.own_rules = lines && *lines;
    if (lines && !context.own_rules) {
        path = (std::filesystem::path(context.path) / ".dockerignore").string();
        lines = read_if_there(path);
    }
    TRY(lines);
    auto rules = DockerIgnore::parse(lines->value_or(""), printable(path));
    TRY(rules);
    context.rules = std::move(*rules);
    return ok;
}

} // namespace

Result<ContextFolder> open_context(const std::string& folder, std::string_view dockerfile) {
    Fd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.open() && (errno == ENOENT || errno == ENOTDIR)) {
        return Error{ErrorKind::config, printable(folder),
                     errno == ENOENT ? "there is no such folder to build from"
                                     : "is not a folder to build from",
                     "name the folder that holds the Dockerfile"};
    }
    if (!root.open()) {
        return unreadable_for_build(folder, errno);
    }
    ContextFolder context{
        .root = Folder(std::move(root)), .path = folder, .dockerfile = name_below(dockerfile)};
    if (context.dockerfile.empty()) {
        return Error{
            ErrorKind::config, printable(folder),
            fmt::format("the Dockerfile '{}' is not a name below that folder", printable(dockerfile)),
            "put it into the folder: the engine sees nothing else"};
    }
    const auto real = check_dockerfile(folder, context.dockerfile);
    TRY(real);
    context.real_file = *real;
    TRY(read_rules(context));
    return context;
}

} // namespace dockdist
