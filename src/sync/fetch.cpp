#include "sync/fetch.hpp"

#include "core/text.hpp"
#include "report/step.hpp"
#include "tree/tree_writer.hpp"

#include <filesystem>
#include <optional>

namespace dockdist {
namespace {

using wire::SyncMessage;
using wire::TreeEntry;
using Kind = SyncMessage::Kind;

constexpr std::chrono::milliseconds fetch_progress_interval{100};

class Receiver {
public:
    Receiver(const NodeStream& node, std::filesystem::path into, Step& step)
        : node_(node), into_(std::move(into)), step_(step) {}

    // An error: the node does not keep to the protocol, or nothing can be written here.
    Status take(SyncMessage& message) {
        switch (message.kind) {
        case Kind::problem:
            if ((message.size & wire::ProblemFlags::not_found) != 0) {
                fetched_.not_found = true;
            } else {
                fetched_.errors.push_back(node_.problem(message));
            }
            return ok;
        case Kind::warning:
            fetched_.left_out.push_back(printable(message.name) + " " + printable(message.text));
            return ok;
        case Kind::entry:
            return begin(message.type);
        default:
            break;
        }
        if (!writer_) {
            return Error{.kind = ErrorKind::protocol, .message = "content that belongs to nothing"};
        }
        auto written = write(message);
        if (!written && writer_->is_full()) {
            return written;
        }
        if (!written) {
            fetched_.errors.push_back(written.error());
        }
        return ok;
    }

    Fetched& fetched() { return fetched_; }

private:
    Status begin(TreeEntry::Type type) {
        fetched_.folder = type == TreeEntry::Type::folder;
        const auto folder = fetched_.folder ? into_ : into_.parent_path();
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        auto opened = Folder::open(folder.string());
        if (!opened) {
            return opened.error();
        }
        writer_.emplace(std::move(*opened));
        return ok;
    }

    // Each name is safe by the decoder; a single file has the name that was chosen here.
    Status write(SyncMessage& message) {
        if (!fetched_.folder) {
            message.name = into_.filename().string();
        }
        if (message.kind != Kind::data && message.kind != Kind::end_file &&
            !wire::is_tree_name(message.name)) {
            return Error{.kind = ErrorKind::protocol, .message = "a file without a name"};
        }
        switch (message.kind) {
        case Kind::folder:
            return writer_->make_folder(message.name, message.mode);
        case Kind::mode:
            return writer_->set_mode(message.name, message.mode);
        case Kind::link:
            return writer_->link(message.name, message.text);
        case Kind::file:
            return writer_->begin_file(wire::to_entry(std::move(message)));
        case Kind::data:
            fetched_.bytes += message.text.size();
            if (step_.elapsed() - last_ >= fetch_progress_interval) {
                last_ = step_.elapsed();
                step_.progress("fetching", fetched_.bytes, std::nullopt);
            }
            return writer_->write(message.text);
        case Kind::end_file:
            fetched_.files += message.size == 1 ? 1U : 0U;
            return writer_->end_file(message.size == 1);
        default:
            return Error{.kind = ErrorKind::protocol, .message = "a message that is not the node's to send"};
        }
    }

    const NodeStream& node_;
    std::filesystem::path into_;
    Step& step_;
    std::chrono::milliseconds last_{0};
    std::optional<TreeWriter> writer_{};
    Fetched fetched_{};
};

} // namespace

Task<Result<Fetched>> fetch(NodeStream& node, std::string path, std::string into, Reporter& reporter) {
    Step step(reporter, "fetch", node.node().str(), "fetching");
    std::string messages;
    wire::append(messages, {.kind = Kind::fetch, .text = path});
    wire::append(messages, {.kind = Kind::barrier});
    if (auto asked = co_await node.write(messages); !asked) {
        step.failed("broke off");
        co_return asked.error();
    }
    Receiver receiver(node, std::filesystem::absolute(into), step);
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
            co_return taken.error();
        }
    }
    step.finished(receiver.fetched().not_found ? "not there" : "fetched");
    co_return std::move(receiver.fetched());
}

} // namespace dockdist
