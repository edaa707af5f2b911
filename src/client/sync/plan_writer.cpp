#include "client/sync/plan_writer.hpp"

#include "shared/tree/read_tree.hpp"

namespace dockdist {
namespace {

using Kind = wire::SyncMessage::Kind;

constexpr std::size_t batch = 256U << 10U;

Kind kind_of(SyncAction::Kind kind) {
    switch (kind) {
    case SyncAction::Kind::make_folder:
        return Kind::folder;
    case SyncAction::Kind::link:
        return Kind::link;
    case SyncAction::Kind::set_mode:
        return Kind::mode;
    case SyncAction::Kind::set_time:
        return Kind::time;
    default:
        return Kind::remove;
    }
}

} // namespace

Task<Status> PlanWriter::run() {
    Folder folder;
    std::string out;
    for (const auto& action : plan.actions) {
        if (stopped()) {
            out.clear();
            break;
        }
        if (action.kind == SyncAction::Kind::send) {
            if (auto opened = folder.open() ? Result<Folder>(Folder()) : Folder::open(tree.path); !opened) {
                co_return opened.error();
            } else if (opened->open()) {
                folder = std::move(*opened);
            }
            CO_TRY(co_await add_file(folder, tree.entries[action.entry], out));
        } else if (action.kind == SyncAction::Kind::remove) {
            wire::append(out, {.kind = Kind::remove, .name = action.name});
        } else {
            wire::append(out, wire::to_message(kind_of(action.kind), tree.entries[action.entry]));
        }
        if (out.size() >= batch) {
            CO_TRY(co_await write(out));
            out.clear();
        }
    }
    wire::append(out, {.kind = Kind::barrier});
    co_return co_await write(out);
}

// The node gets what the file is at this moment; one that changes meanwhile is given up.
Task<Status> PlanWriter::add_file(Folder& folder, const wire::TreeEntry& entry, std::string& out) {
    const auto& local = tree.local_name(entry);
    const auto file = open_file(folder, local);
    const auto before = file.open() ? entry_of(file.get(), entry.name) : Error{};
    if (!before) {
        unsettled.push_back(entry.name); // gone, or no file any more
        sent(entry.size);
        co_return ok;
    }
    wire::append(out, wire::to_message(Kind::file, *before));
    std::uint64_t read = 0;
    bool whole = true;
    while (whole && read < before->size && !stopped()) {
        const auto piece =
            read_piece(file.get(), std::min<std::uint64_t>(before->size - read, wire::sync_piece));
        if (!piece || piece->empty()) {
            whole = false;
            break;
        }
        wire::append_data(out, *piece);
        read += piece->size();
        sent(piece->size());
        if (out.size() >= batch) {
            CO_TRY(co_await write(out));
            out.clear();
        }
    }
    const auto after = entry_of(file.get(), entry.name);
    whole = whole && read == before->size && after && after->size == before->size &&
            after->time_ns == before->time_ns;
    if (!whole && !stopped()) {
        unsettled.push_back(entry.name);
    }
    wire::append(out, {.kind = Kind::end_file, .size = whole ? 1U : 0U});
    co_return ok;
}

} // namespace dockdist
