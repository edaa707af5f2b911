#include "client/sync/fetch.hpp"

#include "client/report/step.hpp"
#include "client/sync/received_names.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/tree/tree_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace dockdist {
namespace {

using wire::SyncMessage;
using wire::TreeEntry;
using Kind = wire::SyncMessage::Kind;

constexpr std::chrono::milliseconds fetch_progress_interval{100};

constexpr std::size_t most_told = 1000; // errors, and names that the node has left out; the rest is counted

std::uint32_t mode_mask() {
    const auto mask = ::umask(0);
    ::umask(mask);
    return 0777U & ~mask;
}

Error not_kept(std::string message) {
    return {.kind = ErrorKind::protocol,
            .message = std::move(message),
            .hint = "the node violates the protocol: nothing more is accepted from it"};
}

class Receiver {
public:
    Receiver(const NodeStream& node, FetchPlace into, Step& step)
        : node_(node), into_(std::move(into)), step_(step) {}

    // An error: the node does not keep to the protocol, or nothing can be written here.
    Status take(SyncMessage& message) {
        switch (message.kind) {
        case Kind::problem:
            if ((message.size & wire::ProblemFlags::not_found) != 0) {
                fetched_.not_found = true;
            } else {
                add_error(node_.problem(message));
            }
            return ok;
        case Kind::warning:
            if (++warnings_ <= most_told) {
                fetched_.left_out.push_back(printable(message.name) + " " + printable(message.text));
            }
            return ok;
        case Kind::entry:
            return begin(message.type);
        default:
            break;
        }
        if (!writer_) {
            return not_kept("content that belongs to nothing");
        }
        if (auto named = check_name(message); !named) {
            return named;
        }
        auto written = write(message);
        if (!written && (writer_->is_full() || no_room_ || written.error().kind == ErrorKind::protocol)) {
            return written;
        }
        if (!written) {
            add_error(written.error());
        }
        return ok;
    }

    Fetched finished() {
        if (warnings_ > most_told) {
            fetched_.left_out.push_back("and " + std::to_string(warnings_ - most_told) + " more, left out");
        }
        if (errors_ > most_told) {
            fetched_.errors.push_back(
                node_.located({.kind = ErrorKind::node,
                               .message = "and " + std::to_string(errors_ - most_told) + " more errors"}));
        }
        return std::move(fetched_);
    }

    bool not_found() const { return fetched_.not_found; }

private:
    void add_error(Error error) {
        if (++errors_ <= most_told) {
            fetched_.errors.push_back(std::move(error));
        }
    }

    Status begin(TreeEntry::Type type) {
        if (writer_) {
            return not_kept("a second beginning");
        }
        fetched_.folder = type == TreeEntry::Type::folder;
        if (!fetched_.folder && type != TreeEntry::Type::file) {
            return not_kept("what comes is neither a file nor a folder");
        }
        if (!fetched_.folder && into_.name.empty()) {
            return Error{.kind = ErrorKind::node,
                         .where = node_.node().str(),
                         .message = "a file comes, and " + printable(into_.root) + " is a folder",
                         .hint = "name the file that it is to become"};
        }
        auto folder = open_place();
        TRY(folder);
        writer_.emplace(std::move(*folder));
        return ok;
    }

    // The folder that is written into: the copy itself, or the one that a single file will stand in.
    Result<Folder> open_place() const {
        if (!into_.name.empty() && !wire::is_tree_name(into_.name)) {
            return tree_error(printable(into_.name), EINVAL);
        }
        std::error_code error;
        std::filesystem::create_directories(into_.root, error);
        auto root = Folder::open(into_.root);
        if (!root) {
            return root;
        }
        TreeWriter above(std::move(*root));
        const auto parent = into_.name.substr(0, into_.name.rfind('/') + 1);
        const auto below = fetched_.folder ? into_.name : parent.substr(0, parent.size() - !parent.empty());
        for (auto slash = below.find('/'); !below.empty(); slash = below.find('/', slash + 1)) {
            TRY(above.make_folder(below.substr(0, slash), mask_));
            if (slash == std::string::npos) {
                break;
            }
        }
        return above.tree().subfolder(below);
    }

    // In a folder each name comes once; a single file has the name that was chosen here.
    Status check_name(SyncMessage& message) {
        const bool named = message.kind == Kind::file || message.kind == Kind::link ||
                           message.kind == Kind::folder || message.kind == Kind::mode;
        if (!named) {
            return ok;
        }
        if (fetched_.folder) {
            return message.kind == Kind::mode     ? ok
                   : message.kind == Kind::folder ? names_.take_folder(message.name)
                                                  : names_.take(message.name);
        }
        if (message.kind != Kind::file) {
            return not_kept("a link or folder where a single file was to come");
        }
        message.name = into_.name.substr(into_.name.rfind('/') + 1);
        return names_.take(message.name);
    }

    Status begin_file(SyncMessage message) {
        const auto place = writer_->tree().place(message.name);
        struct stat status{};
        if (place.folder >= 0 &&
            ::fstatat(place.folder, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
            return Error{.kind = ErrorKind::node,
                         .message = printable(message.name) + ": a folder, device, pipe or socket is there",
                         .hint = "only files and links are replaced: remove it, or copy to another place"};
        }
        struct statvfs room{};
        if (place.folder >= 0 && ::fstatvfs(place.folder, &room) == 0 &&
            message.size / std::max<std::uint64_t>(room.f_frsize, 1) > room.f_bavail) {
            no_room_ = true;
            return Error{.kind = ErrorKind::node,
                         .where = node_.node().str(),
                         .message = printable(message.name) + " has " + format_size(Bytes{message.size}) +
                                    ", and " + format_size(Bytes{room.f_bavail * room.f_frsize}) +
                                    " are free in " + printable(into_.root),
                         .hint = "free space there, or copy to another place"};
        }
        message.mode &= mask_;
        return writer_->begin_file(wire::to_entry(std::move(message)));
    }

    Status write(SyncMessage& message) {
        switch (message.kind) {
        case Kind::folder: {
            const auto made = writer_->make_folder(message.name, message.mode & mask_);
            if (made && *made) {
                names_.made_folder();
            }
            return made ? Status(ok) : made.error();
        }
        case Kind::mode: {
            const auto made = names_.end_folder(message.name);
            TRY(made);
            return *made ? writer_->set_mode(message.name, message.mode & mask_) : Status(ok);
        }
        case Kind::link:
            return writer_->link(message.name, message.text);
        case Kind::file:
            in_file_ = true;
            left_ = message.size;
            return begin_file(std::move(message));
        case Kind::data:
            if (!in_file_ || message.text.size() > left_) {
                return not_kept("more content than was announced");
            }
            left_ -= message.text.size();
            fetched_.bytes += message.text.size();
            if (step_.elapsed() - last_ >= fetch_progress_interval) {
                last_ = step_.elapsed();
                step_.progress("fetching", fetched_.bytes, std::nullopt);
            }
            return writer_->write(message.text);
        case Kind::end_file:
            if (!in_file_ || (message.size == 1 && left_ != 0)) {
                return not_kept("an end without a file, or before its content");
            }
            in_file_ = false;
            fetched_.files += message.size == 1 ? 1U : 0U;
            return writer_->end_file(message.size == 1);
        default:
            return not_kept("a message that a node may not send");
        }
    }

    const NodeStream& node_;
    FetchPlace into_;
    Step& step_;
    std::uint32_t mask_ = mode_mask();
    std::chrono::milliseconds last_{0};
    std::optional<TreeWriter> writer_{};
    ReceivedNames names_{};
    bool in_file_ = false, no_room_ = false;
    std::uint64_t left_ = 0; // of the file that comes
    std::size_t warnings_ = 0, errors_ = 0;
    Fetched fetched_{};
};

} // namespace

Task<Result<Fetched>> fetch(NodeStream& node, std::string path, FetchPlace into, Reporter& reporter) {
    Step step(reporter, "fetch", node.node().str(), "fetching");
    std::string messages;
    wire::append(messages, {.kind = Kind::fetch, .text = path});
    wire::append(messages, {.kind = Kind::barrier});
    if (auto asked = co_await node.write(messages); !asked) {
        step.failed("broke off");
        co_return asked.error();
    }
    Receiver receiver(node, std::move(into), step);
    while (true) {
        auto message = co_await node.next();
        if (message && message->kind == Kind::done) {
            break;
        }
        if (!message) {
            step.failed("broke off");
            co_return message.error();
        }
        if (const auto taken = receiver.take(*message); !taken) {
            step.failed("broke off");
            auto error = taken.error();
            co_return error.kind == ErrorKind::protocol ? node.located(std::move(error)) : error;
        }
    }
    step.finished(receiver.not_found() ? "not there" : "fetched");
    co_return receiver.finished();
}

} // namespace dockdist
