#include "shared/tree/folder.hpp"

#include "shared/core/text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace dockdist {

Error tree_error(const std::string& what, int number) {
    Error error{.kind = ErrorKind::node, .message = what + ": " + std::strerror(number)};
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        error.hint = "free space there, or choose another folder";
        break;
    case EACCES:
    case EPERM:
        error.hint = "the folder and what is in it must belong to the user who writes it";
        break;
    case EROFS:
        error.hint = "it is mounted read-only: choose another folder, or mount it for writing";
        break;
    case ELOOP:
    case ENOTDIR:
        error.hint = "there is a file or a link where a folder is needed; links are never followed there";
        break;
    case EISDIR:
    case ENOTEMPTY:
    case EEXIST:
        error.hint = "a folder with content is there: remove it, or let --delete do so";
        break;
    default:
        break;
    }
    return error;
}

Result<Folder> Folder::open(const std::string& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.open()) {
        return tree_error(path, errno);
    }
    return Folder(std::move(fd));
}

Result<Folder> Folder::subfolder(std::string_view name) {
    const int folder = below(name);
    Fd own(folder < 0 ? -1 : ::fcntl(folder, F_DUPFD_CLOEXEC, 0));
    if (!own.open()) {
        return tree_error(printable(name), errno);
    }
    return Folder(std::move(own));
}

int Folder::below(std::string_view name) {
    std::size_t depth = 0;
    while (!name.empty()) {
        const auto slash = name.find('/');
        const auto component = name.substr(0, slash);
        name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
        if (depth >= path_.size() || path_[depth].component != component) {
            path_.resize(depth);
            const int parent = depth == 0 ? root_.get() : path_.back().fd.get();
            Step step{.component = std::string(component)};
            step.fd =
                Fd(::openat(parent, step.component.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (!step.fd.open()) {
                return -1;
            }
            path_.push_back(std::move(step));
        }
        ++depth;
    }
    return depth == 0 ? root_.get() : path_[depth - 1].fd.get();
}

Folder::Place Folder::place(std::string_view name) {
    const auto slash = name.rfind('/');
    if (slash == std::string_view::npos) {
        return {root_.get(), std::string(name)};
    }
    return {below(name.substr(0, slash)), std::string(name.substr(slash + 1))};
}

} // namespace dockdist
