#include "client/relay/relay_host.hpp"

#include "client/async/pause.hpp"
#include "client/container/confine.hpp"
#include "client/plan/plan.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

namespace dockdist {

RelaySetting relay_setting(const ClusterName& cluster, const HostSpec& host, const std::string& number,
                           const RelayRun& run) {
    return {.container = container_name(cluster, NodeName("relay." + run.attempt + "." + number)),
            .labels = labels::common(cluster.str(), "relay", run.attempt, run.origin),
            .programs = run.programs,
            .address = host.address,
            .interface = host.interface,
            .subnets = host.subnets};
}

RepositoryAndTag split_ref(const std::string& ref) {
    const auto slash = ref.rfind('/');
    const auto colon = ref.rfind(':');
    if (colon != std::string::npos && (slash == std::string::npos || colon > slash)) {
        return {ref.substr(0, colon), ref.substr(colon + 1)};
    }
    return {ref, "latest"};
}

Task<Status> RelayHost::make_container() {
    bool from_here = false;
    const auto info = co_await engine_.info();
    auto made = info ? choose_program(*info) : Status(info.error());
    if (made) {
        const auto turn = co_await setting_.programs->turn(*info);
        made = co_await make_image(from_here);
    }
    if (made) {
        made = co_await make_and_start();
    }
    auto* const hand_on = program_ == nullptr ? nullptr : program_->hand_on.get();
    if (made && hand_on != nullptr) {
        hand_on->add_giver({.engine = &engine_,
                            .host = host_,
                            .address = setting_.address,
                            .interface = setting_.interface,
                            .subnets = setting_.subnets,
                            .container = container_,
                            .command = {relay_init, "relay", "give-self"}});
    }
    if (from_here) {
        hand_on->ended(made.has_value());
    }
    co_return made;
}

Status RelayHost::choose_program(const EngineInfo& info) {
    const auto program = setting_.programs->of(info.architecture);
    TRY(program);
    program_ = *program;
    return ok;
}

Task<Status> RelayHost::make_image(bool& from_here) {
    const auto there = co_await engine_.inspect_image(program_->image);
    if (there || there.error().kind != ErrorKind::not_found) {
        co_return there ? Status(ok) : there.error();
    }
    if (program_->hand_on) {
        from_here = !co_await program_->hand_on->fetch(engine_, host_, {});
        if (!from_here) {
            co_return ok;
        }
    }
    const auto name = split_ref(program_->image.str());
    co_return co_await engine_.import_image(name.repository, name.tag, program_->program.tar);
}

Task<Status> RelayHost::make_and_start() {
    ContainerConfig config;
    config.image = program_->image;
    config.entrypoint = {relay_init};
    config.command = {"relay", "hold"};
    config.network_mode = "host";
    config.labels = setting_.labels;
    config.disable_healthcheck = true;
    config.user = fmt::format("{0}:{0}", relay_account);
    config.mounts = {setting_.place};
    confine(config);
    if (const auto info = co_await engine_.info()) {
        fit(config, *info);
    }
    // A host's folder has a label that shuts containers out, and which is not ours to change.
    config.no_label = setting_.place.type == Mount::Type::bind;
    may_be_there_ = true;
    const auto id = co_await engine_.create_container(setting_.container, std::move(config));
    if (!id) {
        may_be_there_ = id.error().kind == ErrorKind::unreachable || id.error().kind == ErrorKind::timeout;
        co_return id.error();
    }
    container_ = *id;
    co_return co_await engine_.start_container(container_);
}

Task<Status> RelayHost::begin(wire::RelayOpening opening, std::string user) {
    auto exec = co_await start_command(engine_, container_, {.command = {relay_init, "relay"}, .user = user});
    CO_TRY(exec);
    lines_ = std::make_unique<ExecLines>(std::move(*exec));
    opening.address = setting_.address;
    opening.interface = setting_.interface;
    opening.subnets = setting_.subnets;
    if (const auto written = co_await lines_->write(wire::to_line(opening)); !written) {
        co_return written;
    }
    const auto line = co_await lines_->next_line();
    CO_TRY(line);
    const auto message = *line ? wire::parse_relay_message(**line) : Result<wire::RelayMessage>(Error{});
    if (!message || message->type != wire::RelayMessage::Type::listening ||
        (message->engine_port == 0) != opening.tree) {
        co_return Error{ErrorKind::node, "", "the relay did not start: " + printable(lines_->err()), ""};
    }
    listening_ = *message;
    co_return ok;
}

std::string RelayHost::peer_address() const {
    return listening_.peer_port == 0 ? "" : fmt::format("{} {}", listening_.address, listening_.peer_port);
}

Task<Status> RelayHost::set_peers(wire::RelayPeers peers) {
    co_return co_await lines_->write(wire::to_line(peers));
}

// The engine shows a container only when it is done with making it, maybe after we gave up.
Task<Status> RelayHost::find_container() {
    constexpr int most_tries = 20;
    for (int tries = 0; tries < most_tries; ++tries) {
        const auto there = co_await engine_.inspect_container(ContainerId(setting_.container)); // by its name
        if (there) {
            container_ = there->id;
            co_return ok;
        }
        if (there.error().kind != ErrorKind::not_found) {
            co_return there.error();
        }
        co_await pause_for(std::chrono::milliseconds(100));
    }
    co_return ok;
}

Task<Status> RelayHost::remove() {
    lines_.reset();
    if (container_.empty() && may_be_there_) {
        if (const auto found = co_await find_container(); !found) {
            co_return found;
        }
    }
    if (!container_.empty()) {
        if (const auto removed = co_await engine_.remove_container(container_); !removed) {
            co_return removed;
        }
    }
    if (program_ == nullptr) {
        co_return ok;
    }
    const auto removed = co_await engine_.remove_image(program_->image);
    co_return !removed && removed.error().kind != ErrorKind::conflict ? removed : Status(ok); // another run's
}

} // namespace dockdist
