#include "client/data/data_run.hpp"

#include "client/async/cleanup.hpp"
#include "client/async/run_all.hpp"
#include "client/data/data_places.hpp"
#include "client/plan/plan.hpp"
#include "client/sync/node_tree.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

namespace dockdist {
namespace {

using Kind = wire::SyncMessage::Kind;

// What engines say of a folder that they are to mount and that is not there.
bool is_missing_source(const Error& error) {
    return error.message.find("does not exist") != std::string::npos ||
           error.message.find("no such file or directory") != std::string::npos;
}

class DataRun {
public:
    DataRun(const boost::asio::any_io_executor& executor, const ClusterSpec& spec, const Engines& engines,
            DataSpec data, DataSetting setting, Reporter& reporter)
        : executor_(executor), spec_(spec), engines_(engines), data_(std::move(data)),
          setting_(std::move(setting)), reporter_(reporter) {}

    Task<DataState> run() {
        programs_.emplace(setting_.toolkits, setting_.hosts.size(),
                          [this](const Error& error) { reporter_.on(warning_event(error)); });
        co_return co_await with_cleanup<DataState>(work(), [this] { return clean_up(); });
    }

private:
    using Place = DataPlace;

    // Its container, and as whom to work there.
    Task<Status> start(Place& place) {
        if (place.target != nullptr && is_volume(data_) && setting_.work != DataWork::push) {
            const auto volume = co_await place.relay->engine().inspect_volume(data_.target);
            if (!volume) {
                co_return volume.error(); // to look at it would make it
            }
        }
        if (const auto made = co_await place.relay->make_container(); !made) {
            co_return made;
        }
        const auto owner = co_await run_command(place.relay->engine(), place.relay->container(),
                                                {.command = {relay_init, "relay", "owner"}});
        CO_TRY(owner);
        place.user = owner->out.substr(0, owner->out.find('\n'));
        if (owner->exit_code != 0 || place.user.empty() ||
            place.user.find_first_not_of("0123456789:") != std::string::npos) {
            co_return Error{ErrorKind::node, "",
                            "its relay does not report who owns the folder: " + printable(owner->err), ""};
        }
        co_return ok;
    }

    void failed(const Place& place, Error error) {
        if (place.target == nullptr) {
            if (is_missing_source(error)) {
                error = {ErrorKind::not_found, "", printable(data_.source) + " is not there",
                         "correct `from` of `data`"};
            } else {
                error.message = printable(data_.source) + ": " + error.message;
            }
            error.where = host_label(spec_.hosts[place.host]);
            state_.errors.push_back(std::move(error));
        } else if (setting_.work != DataWork::push &&
                   (error.kind == ErrorKind::not_found || is_missing_source(error))) {
            place.target->absent = true;
        } else {
            error.where = host_label(spec_.hosts[place.host]);
            place.target->node.errors.push_back(std::move(error));
        }
    }

    SyncExec exec_of(const Place& place) const {
        return {.opening = {.user = place.user, .workdir = "/"}, .program = relay_init, .user = place.user};
    }

    Task<void> on_each(std::vector<Place*> places, std::function<Task<Status>(Place&)> work) {
        std::vector<Task<Status>> tasks;
        for (auto* place : places) {
            tasks.push_back(work(*place));
        }
        const auto done = co_await run_all(std::move(tasks));
        for (std::size_t i = 0; i < done.size(); ++i) {
            if (!done[i]) {
                failed(*places[i], done[i].error());
            }
        }
    }

    Task<void> start_all() {
        std::vector<Place*> places;
        for (auto& place : places_) {
            places.push_back(&place);
        }
        co_await on_each(std::move(places), [this](Place& place) { return start(place); });
    }

    Task<Result<LocalTree>> read_source() {
        if (data_.host.empty()) {
            std::error_code error;
            if (std::filesystem::exists(data_.source, error) &&
                !std::filesystem::is_directory(data_.source, error)) {
                co_return Error{ErrorKind::usage, "", printable(data_.source) + " is not a folder",
                                "`data` takes folders: put the file into one"};
            }
            auto tree = scan(data_.source, {.ignore_files = false, .exclude = data_.exclude});
            if (!tree && tree.error().kind == ErrorKind::usage) {
                auto missing = tree.error();
                missing.hint = "paths of `data` are relative to cluster.yaml's folder; for a path on a host "
                               "write HOST:/path";
                co_return missing;
            }
            co_return tree;
        }
        const auto& place = places_.front();
        auto stream = co_await NodeStream::open(place.relay->engine(), place.relay->container(),
                                                NodeName(place.relay->host()), exec_of(place));
        CO_TRY(stream);
        origin_ = std::move(*stream);
        co_return co_await scan_node(*origin_, data_folder, data_.exclude);
    }

    Task<DataState> work() {
        places_ = make_places(
            spec_, engines_, data_, setting_,
            {.attempt = setting_.attempt, .origin = setting_.origin, .programs = &*programs_}, state_.hosts);
        co_await start_all();
        if (!state_.errors.empty()) {
            co_return std::move(state_);
        }
        auto tree = co_await read_source();
        if (!tree) {
            state_.errors = {tree.error()};
            co_return std::move(state_);
        }
        tree_ = std::move(*tree);
        state_.left_out = tree_.left_out;
        for (const auto& entry : tree_.entries) {
            state_.files += entry.type == wire::TreeEntry::Type::file ? 1U : 0U;
            state_.bytes += entry.size;
        }
        if (setting_.work == DataWork::remove || (setting_.work == DataWork::push && data_.remove)) {
            if (const auto spared = co_await spare_source(); !spared) {
                state_.errors = {spared.error()};
                co_return std::move(state_);
            }
        }
        co_await compare_and_carry();
        if (setting_.work == DataWork::remove) {
            co_await remove_all();
        }
        co_return std::move(state_);
    }

    std::vector<Place*> usable() {
        std::vector<Place*> places;
        for (auto& place : places_) {
            if (place.target != nullptr && !place.target->absent && !place.target->is_origin &&
                place.target->node.errors.empty()) {
                places.push_back(&place);
            }
        }
        return places;
    }

    // A target may be the source itself: by another path, on a file system that hosts share, or since two
    // hosts of the file are one. Nothing is removed there. Each target gets a token, which the source is
    // searched for.
    Task<Status> spare_source() {
        const auto places = usable();
        co_await on_each(places, [this](Place& place) { return mark(place); });
        auto looked = co_await look_for_tokens(places);
        co_await on_each(places, [this](Place& place) { return forget(place); });
        co_return looked;
    }

    std::string token_of(const Place& place) const {
        return fmt::format("{}token-{}-{}", wire::temporary_prefix, setting_.attempt, place.host);
    }

    Task<Status> mark(Place& place) {
        auto stream = co_await NodeStream::open(place.relay->engine(), place.relay->container(),
                                                place.target->node.node, exec_of(place));
        CO_TRY(stream);
        place.stream = std::move(*stream);
        std::string messages;
        wire::append(messages, {.kind = Kind::open, .text = data_folder});
        wire::append(messages, {.kind = Kind::token, .text = token_of(place)});
        co_return co_await place.stream->ask(std::move(messages), [&place](auto message) {
            if (message.kind == Kind::problem) {
                place.target->node.errors.push_back(place.stream->problem(message));
            }
        });
    }

    Task<Status> forget(Place& place) {
        if (!place.stream) {
            co_return ok;
        }
        std::string messages;
        wire::append(messages, {.kind = Kind::forget, .text = token_of(place)});
        co_return co_await place.stream->ask(std::move(messages), [](const auto&) {});
    }

    Task<Status> look_for_tokens(const std::vector<Place*>& places) {
        std::string messages;
        for (auto* place : places) {
            std::error_code error;
            if (!origin_ && std::filesystem::exists(tree_.path + "/" + token_of(*place), error)) {
                place->target->is_origin = true;
            }
            wire::append(messages, {.kind = Kind::look, .text = token_of(*place)});
        }
        if (!origin_) {
            co_return ok;
        }
        co_return co_await origin_->ask(std::move(messages), [&](auto message) {
            for (auto* place : places) {
                if (message.kind == Kind::seen && message.size == 1 && message.text == token_of(*place)) {
                    place->target->is_origin = true;
                }
            }
        });
    }

    Task<void> compare_and_carry() {
        const auto places = usable();
        std::vector<ReadyNode> nodes;
        Synchroniser::Options options{.dry_run = setting_.work != DataWork::push, .origin = origin_.get()};
        for (const auto* place : places) {
            nodes.push_back(
                {.name = place->target->node.node, .id = place->relay->container(), .host = place->host});
            options.execs.push_back(exec_of(*place));
        }
        if (nodes.empty()) {
            co_return;
        }
        options.carry = [&](std::vector<SyncedNode*> lacking) { return carry(places, std::move(lacking)); };
        Synchroniser synchroniser(engines_, std::move(nodes), std::move(options), reporter_);
        auto synced = co_await synchroniser.sync(tree_, data_folder, {.remove = data_.remove});
        for (std::size_t i = 0; i < places.size(); ++i) {
            places[i]->target->node = std::move(synced.nodes[i]);
        }
    }

    Task<void> carry(const std::vector<Place*>& places, std::vector<SyncedNode*> lacking) {
        std::vector<FileRelay> targets;
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (lacking[i] != nullptr) {
                targets.push_back({places[i]->relay.get(), places[i]->user, lacking[i]});
            }
        }
        if (targets.empty()) {
            co_return;
        }
        FileRelay origin;
        if (origin_) {
            origin = {places_.front().relay.get(), places_.front().user, nullptr};
        }
        FileSender sender(executor_, tree_, std::move(origin), std::move(targets), reporter_);
        co_await sender.run();
    }

    // What the source has, by name, and what is begun of it; folders that are empty then.
    Task<void> remove_all() {
        co_await on_each(usable(), [this](Place& place) { return remove(place); });
    }

    Task<Status> remove(Place& place) {
        std::string messages;
        wire::append(messages, {.kind = Kind::list, .size = wire::ListFlags::remove_begun});
        for (const auto& entry : tree_.entries) {
            if (entry.type == wire::TreeEntry::Type::folder) {
                wire::append(messages,
                             {.kind = Kind::list, .size = wire::ListFlags::remove_begun, .name = entry.name});
            }
        }
        for (auto entry = tree_.entries.rbegin(); entry != tree_.entries.rend(); ++entry) {
            wire::append(messages, {.kind = Kind::remove, .name = entry->name});
        }
        co_return co_await place.stream->ask(std::move(messages), [&](auto message) {
            const auto at = tree_.index.find(message.name);
            const bool is_folder =
                at != tree_.index.end() && tree_.entries[at->second].type == wire::TreeEntry::Type::folder;
            if (message.kind == Kind::problem && !is_folder) { // one with other files in it stays
                place.target->node.errors.push_back(place.stream->problem(message));
            }
        });
    }

    Task<void> clean_up() {
        std::vector<Task<Status>> removals;
        for (const auto& place : places_) {
            removals.push_back(place.relay->remove());
        }
        co_await run_all(std::move(removals)); // what stays of a host that is gone bears our labels: down's
    }

    boost::asio::any_io_executor executor_;
    const ClusterSpec& spec_;
    const Engines& engines_;
    DataSpec data_;
    DataSetting setting_;
    Reporter& reporter_;
    std::optional<RelayPrograms> programs_{};
    DataState state_{};
    std::vector<Place> places_{};
    LocalTree tree_{};
    std::unique_ptr<NodeStream> origin_{};
};

} // namespace

bool DataState::same_everywhere() const {
    return errors.empty() && std::ranges::all_of(hosts, [](const DataHost& host) {
               return !host.absent && host.node.errors.empty() && host.node.plan.empty();
           });
}

Errors DataState::all_errors() const {
    Errors all = errors;
    for (const auto& host : hosts) {
        all.insert(all.end(), host.node.errors.begin(), host.node.errors.end());
    }
    return all;
}

Task<DataState> run_data(const ClusterSpec& spec, const Engines& engines, DataSpec data, DataSetting setting,
                         Reporter& reporter) {
    DataRun run(co_await boost::asio::this_coro::executor, spec, engines, std::move(data), std::move(setting),
                reporter);
    co_return co_await run.run();
}

} // namespace dockdist
