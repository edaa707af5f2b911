#include "node/sync/send_tree.hpp"

#include "shared/core/text.hpp"
#include "shared/tree/read_tree.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace dockdist::node {
namespace {

using wire::SyncMessage;
using wire::TreeEntry;
using Kind = SyncMessage::Kind;

void warn(const std::string& name, std::string text, SyncOutput& out) {
    out.send({.kind = Kind::warning, .name = name, .text = std::move(text)});
}

void send_content(int file, const std::string& name, SyncOutput& out) {
    auto entry = entry_of(file, name);
    if (!entry) {
        out.problem(name, entry.error());
        return;
    }
    out.send(wire::to_message(Kind::file, *entry));
    std::uint64_t sent = 0;
    // No more than it had at first: a log that grows faster than the network would never end.
    while (sent < entry->size && !out.failed()) {
        const auto left = entry->size - sent;
        const auto piece = read_piece(file, std::min<std::uint64_t>(left, wire::sync_piece));
        if (!piece) {
            out.problem(name, piece.error());
            break;
        }
        if (piece->empty()) {
            warn(name, "became shorter while it was read", out);
            break;
        }
        out.send_data(*piece);
        sent += piece->size();
    }
    out.send({.kind = Kind::end_file, .size = sent == entry->size ? 1U : 0U});
}

void send_folder(Folder& tree, const std::string& name, SyncOutput& out) {
    const auto entries = list_folder(tree, name);
    if (!entries) {
        out.problem(name, entries.error());
        return;
    }
    for (const auto& entry : *entries) {
        if (out.failed()) {
            return;
        }
        switch (entry.type) {
        case TreeEntry::Type::folder:
            out.send(wire::to_message(Kind::folder, entry));
            send_folder(tree, entry.name, out);
            out.send(wire::to_message(Kind::mode, entry));
            break;
        case TreeEntry::Type::file: {
            const auto file = open_file(tree, entry.name);
            if (file.open()) {
                send_content(file.get(), entry.name, out);
            } else if (errno != ENOENT) {
                out.problem(entry.name, tree_error(printable(entry.name), errno));
            }
            break;
        }
        case TreeEntry::Type::link:
            if (wire::stays_in_tree(entry.name, entry.target)) {
                out.send(wire::to_message(Kind::link, entry));
            } else {
                warn(entry.name,
                     "is a link to " + printable(entry.target) + ", which leads out of the folder: left out",
                     out);
            }
            break;
        default:
            warn(entry.name, "is not a file, folder or link: left out", out);
        }
    }
}

} // namespace

void send_tree(const std::string& path, SyncOutput& out) {
    // Non-blocking: opening a fifo must not wait for its other end.
    Fd top(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const int number = errno;
    const auto name = path.substr(path.rfind('/') + 1);
    struct stat status{};
    if (!top.open() || ::fstat(top.get(), &status) != 0) {
        out.problem("", tree_error(printable(path), number),
                    wire::ProblemFlags::final |
                        (number == ENOENT || number == ENOTDIR ? wire::ProblemFlags::not_found : 0));
    } else if (S_ISDIR(status.st_mode)) {
        out.send({.kind = Kind::entry, .type = TreeEntry::Type::folder, .mode = status.st_mode & 0777U});
        Folder tree(std::move(top));
        send_folder(tree, "", out);
    } else if (S_ISREG(status.st_mode) && wire::is_tree_name(name)) {
        out.send({.kind = Kind::entry, .type = TreeEntry::Type::file});
        send_content(top.get(), name, out);
    } else {
        out.problem("",
                    {.kind = ErrorKind::node, .message = printable(path) + " is neither a file nor a folder"},
                    wire::ProblemFlags::final);
    }
}

} // namespace dockdist::node
