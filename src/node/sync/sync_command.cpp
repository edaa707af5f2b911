#include "node/sync/sync_command.hpp"

#include "node/session/session.hpp"
#include "node/sync/send_tree.hpp"
#include "node/sync/sync_folder.hpp"
#include "node/sync/sync_output.hpp"
#include "node/system/account_folders.hpp"
#include "shared/core/text.hpp"
#include "shared/tree/read_tree.hpp"
#include "shared/tree/tree_writer.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

using wire::SyncMessage;
using wire::TreeEntry;
using Kind = SyncMessage::Kind;

constexpr std::size_t read_size = 256U << 10U;
constexpr time_t day_s = 24 * 3600;

bool is_sync_token(const std::string& text) {
    return wire::is_temporary(text) && wire::is_tree_name(text) && text.find('/') == std::string::npos;
}

time_t days_kept(const std::string& name, bool remove_begun) {
    return !name.starts_with(wire::begun_prefix) ? 1 : remove_begun ? 0 : 7;
}

// Files that a client left half written a day ago, or longer; a week, where a later one could go on, unless
// nobody will.
void remove_abandoned(Folder& tree, const std::string& name, bool remove_begun) {
    const int folder = tree.below(name);
    if (folder < 0) {
        return;
    }
    for (const auto& found : list_folder(Fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)))) {
        struct stat status{};
        if (wire::is_temporary(found) &&
            ::fstatat(folder, found.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_ctim.tv_sec + days_kept(found, remove_begun) * day_s <= std::time(nullptr)) {
            ::unlinkat(folder, found.c_str(), 0);
        }
    }
}

class SyncServer {
public:
    SyncServer(Account account, std::string workdir)
        : account_(std::move(account)), workdir_(std::move(workdir)), out_(STDOUT_FILENO) {}

    // False: nobody listens any more.
    bool handle(SyncMessage message) {
        if (message.kind == Kind::open) {
            open(message.text, message.size != 0); // decides itself who does what
        } else {
            const AsUser user(account_);
            if (!user.status()) { // nothing is done with root's rights in its place
                stop("", user.status().error());
                if (message.kind == Kind::barrier) {
                    out_.done();
                }
                return !out_.failed();
            }
            as_user(message);
        }
        return !out_.failed();
    }

    void refuse(const Error& error) {
        out_.problem("", error, wire::ProblemFlags::final);
        out_.done();
    }

private:
    void open(const std::string& path, bool make) {
        writer_ = TreeWriter();
        stopped_ = false;
        if (!path.starts_with('/')) {
            stop("", {.kind = ErrorKind::node, .message = printable(path) + " is not an absolute path"});
            return;
        }
        auto folder = open_sync_folder(path, account_, make);
        if (!folder) {
            stop("", folder.error());
            return;
        }
        const bool there = folder->folder.open();
        writer_ = TreeWriter(std::move(folder->folder));
        out_.send({.kind = Kind::opened,
                   .size = (there ? wire::OpenedFlags::there : 0) |
                           (folder->maybe_shared ? wire::OpenedFlags::maybe_shared : 0)});
    }

    void as_user(SyncMessage& message) {
        switch (message.kind) {
        case Kind::barrier:
            out_.done();
            return;
        case Kind::stat:
            look_at(absolute(message.text));
            return;
        case Kind::fetch:
            send_tree(absolute(message.text), out_);
            return;
        default:
            break;
        }
        if (stopped_ || !writer_.tree().open()) {
            return; // the client was told why
        }
        if (const auto done = in_tree(message); !done) {
            if (writer_.is_full()) {
                stop(message.name, done.error());
            } else {
                out_.problem(message.name, done.error());
            }
        }
    }

    Status in_tree(SyncMessage& message) {
        const auto& name = message.name;
        switch (message.kind) {
        case Kind::list:
            return list(name, (message.size & wire::ListFlags::remove_begun) != 0);
        case Kind::digest: {
            const auto digest = digest_file(writer_.tree(), name);
            out_.send({.kind = Kind::hashed, .name = name, .text = digest ? *digest : ""});
            return ok;
        }
        case Kind::remove:
            return writer_.remove(name);
        case Kind::folder: {
            const auto made = writer_.make_folder(name, message.mode);
            return made ? Status(ok) : made.error();
        }
        case Kind::link:
            return writer_.link(name, message.text);
        case Kind::mode:
            return writer_.set_mode(name, message.mode);
        case Kind::time:
            (void)writer_.set_time(name, message.time_ns); // whoever owns the file: its content is right
            return ok;
        case Kind::file:
            return writer_.begin_file(wire::to_entry(std::move(message)));
        case Kind::data:
            return writer_.write(message.text);
        case Kind::end_file:
            return writer_.end_file(message.size == 1);
        case Kind::token:
        case Kind::look:
        case Kind::forget:
            return token(message.kind, message.text);
        default:
            return Error{.kind = ErrorKind::protocol, .message = "a message that is the node's own to send"};
        }
    }

    Status list(const std::string& name, bool remove_begun) {
        remove_abandoned(writer_.tree(), name, remove_begun);
        auto entries = list_folder(writer_.tree(), name);
        TRY(entries);
        for (const auto& entry : *entries) {
            out_.send(wire::to_message(Kind::entry, entry));
        }
        return ok;
    }

    Status token(Kind kind, const std::string& name) {
        const int folder = writer_.tree().root();
        if (!is_sync_token(name)) {
            return Error{.kind = ErrorKind::protocol, .message = "a token of another name"};
        }
        if (kind == Kind::token) {
            const Fd file(
                ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
            return file.open() ? Status(ok) : tree_error("cannot write in the folder", errno);
        }
        if (kind == Kind::look) {
            struct stat status{};
            const bool there = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
            out_.send({.kind = Kind::seen, .size = there ? 1U : 0U, .text = name});
        } else {
            ::unlinkat(folder, name.c_str(), 0);
        }
        return ok;
    }

    void look_at(const std::string& path) {
        struct stat status{};
        auto type = TreeEntry::Type::none;
        if (::stat(path.c_str(), &status) == 0) {
            type = S_ISDIR(status.st_mode)   ? TreeEntry::Type::folder
                   : S_ISREG(status.st_mode) ? TreeEntry::Type::file
                                             : TreeEntry::Type::other;
        }
        out_.send({.kind = Kind::entry, .type = type, .text = path});
    }

    std::string absolute(const std::string& path) const {
        return path.starts_with('/') ? path : workdir_ + "/" + path;
    }

    void stop(const std::string& name, const Error& error) {
        stopped_ = true;
        out_.problem(name, error, wire::ProblemFlags::final);
    }

    Account account_;
    std::string workdir_;
    SyncOutput out_;
    TreeWriter writer_{};
    bool stopped_ = false;
};

int serve(SyncServer& server) {
    wire::SyncDecoder decoder;
    while (true) {
        const auto bytes = [] {
            std::string piece(read_size, '\0');
            const auto count = ::read(STDIN_FILENO, piece.data(), piece.size());
            piece.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
            return piece;
        }();
        if (bytes.empty()) {
            return 0; // the client has ended or gone: a file that is half written is given up
        }
        decoder.feed(bytes);
        while (true) {
            auto message = decoder.next();
            if (!message) {
                server.refuse(message.error());
                return 2;
            }
            if (!*message) {
                break;
            }
            if (!server.handle(std::move(**message))) {
                return 1;
            }
        }
    }
}

} // namespace

int run_sync(const std::string& text) {
    std::signal(SIGPIPE, SIG_IGN);
    ::umask(022);
    const auto opening = wire::parse_sync_opening(text);
    if (!opening) {
        (void)write_all(STDERR_FILENO, "dockdist-init: " + opening.error().message + "\n");
        return 2;
    }
    std::string error;
    auto account = opening->user.empty() ? recorded_account() : named_account(opening->user, error);
    SyncServer server(std::move(account), opening->workdir.empty() ? recorded_workdir() : opening->workdir);
    if (!error.empty()) {
        server.refuse({.kind = ErrorKind::node, .message = error, .hint = "correct `container.user`"});
        return 2;
    }
    return serve(server);
}

} // namespace dockdist::node
