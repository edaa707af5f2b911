// The relay of one host, as the client sees it: its container, and the talk with it.
#pragma once

#include "client/container/exec_command.hpp"
#include "client/plan/labels.hpp"
#include "client/relay/relay_programs.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/wire/relay.hpp"

#include <memory>
#include <string>

namespace dockdist {

inline constexpr const char* relay_init = wire::relay_program; // in its container

struct RelaySetting {
    std::string container{};            // name
    Labels labels{};                    // of the container
    RelayPrograms* programs = nullptr;  // of which it is one; outlives this
    std::string address{};              // of the host, as its peers know it
    std::string interface{};            // which decides where it lacks the address …
    std::vector<std::string> subnets{}; // … in one of which it is, without an address
    Mount place{}; // where what it carries lies; of an image: a volume of the container's own
};

// What all relays of one run have in common.
struct RelayRun {
    std::string attempt{}; // unique
    std::string origin{};  // USER@MACHINE:FILE
    RelayPrograms* programs = nullptr;
};
// All but the place. `number`: its own within the run, since two hosts of the file may be one engine.
RelaySetting relay_setting(const ClusterName& cluster, const HostSpec& host, const std::string& number,
                           const RelayRun& run);

struct RepositoryAndTag {
    std::string repository{}, tag{};
};
RepositoryAndTag split_ref(const std::string& ref);

class RelayHost {
public:
    RelayHost(ContainerEngine& engine, std::string host, RelaySetting setting)
        : engine_(engine), host_(std::move(host)), setting_(std::move(setting)) {}

    // Started. It runs as nobody, and has nothing but its place.
    Task<Status> make_container();
    const ContainerId& container() const { return container_; }

    // The relay in its container, as `user` (empty: the container's); then `listening` is known. The address
    // in the opening is filled in here.
    Task<Status> begin(wire::RelayOpening opening, std::string user);
    const wire::RelayMessage& listening() const { return listening_; }
    // "ADDRESS PORT" where other relays reach it; empty: nowhere.
    std::string peer_address() const;
    Task<Status> set_peers(wire::RelayPeers peers);

    // The container and the relay's image; safe whatever came of the rest.
    Task<Status> remove();

    ContainerEngine& engine() const { return engine_; }
    const std::string& host() const { return host_; }
    bool has_lines() const { return lines_ != nullptr; }
    ExecLines& lines() { return *lines_; } // after begin()

private:
    Task<Status> find_container();
    Status choose_program(const EngineInfo& info);
    Task<Status> make_image(bool& from_here);
    Task<Status> make_and_start();

    ContainerEngine& engine_;
    std::string host_;
    RelaySetting setting_;
    const RelayPrograms::One* program_ = nullptr; // once the engine has said what it is
    ContainerId container_{};
    bool may_be_there_ = false; // a create whose answer did not come
    std::unique_ptr<ExecLines> lines_{};
    wire::RelayMessage listening_{};
};

} // namespace dockdist
