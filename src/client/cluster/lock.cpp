#include "client/cluster/lock.hpp"

#include "client/async/pause.hpp"
#include "client/container/confine.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/plan.hpp"
#include "shared/core/account.hpp"
#include "shared/core/text.hpp"
#include "shared/core/timestamp.hpp"
#include "shared/core/units.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <ctime>
#include <fstream>
#include <unistd.h>

namespace dockdist {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Field 22 of /proc/PID/stat, counted behind the program's name, which may hold blanks and parentheses.
std::string process_start_of(int pid) {
    const auto stat = first_line(fmt::format("/proc/{}/stat", pid));
    const auto end_of_name = stat.rfind(')');
    if (end_of_name == std::string::npos) {
        return "";
    }
    const auto fields = split(std::string_view(stat).substr(end_of_name + 1), ' ');
    return fields.size() > 20 ? fields[20] : "";
}

constexpr int most_lock_tries = 20;
constexpr std::chrono::milliseconds lock_pause{100};

Labels lock_labels(const LockRequest& request) {
    auto all = labels::common(request.cluster.str(), "lock", request.attempt, request.origin);
    all[labels::holder] = to_label(this_process());
    return all;
}

// Podman looks for a volume of the name first and makes one then; two who do so at once are told so.
bool made_by_another_meanwhile(const Error& error) {
    return error.kind == ErrorKind::conflict || error.message.find("already exists") != std::string::npos;
}

Error in_the_way(const LockRequest& request) {
    return {ErrorKind::conflict, request.where,
            "a container or volume named " + lock_name(request.cluster) +
                " is in the way of the cluster's lock",
            "it does not have dockdist's labels: remove or rename it, or give the cluster another `name:`"};
}

// kind locked, or what the engine says when it is asked for the time; nothing: the lock is stale, or is to be
// broken.
Task<std::optional<Error>> holder_alive(ContainerEngine& engine, const LockRequest& request, Labels lock,
                                        std::int64_t created_s) {
    if (request.break_lock) {
        co_return std::nullopt;
    }
    const auto info = co_await engine.info();
    CO_TRY(info);
    co_return locked_by(lock, request.where, age_of(created_s, info->system_time));
}

// The container under which a stale lock is removed.
Task<Result<ContainerId>> take_container(ContainerEngine& engine, const LockRequest& request) {
    ContainerConfig config;
    config.image = request.image;
    config.entrypoint = {layout::init};
    config.network_mode = "none";
    config.labels = lock_labels(request);
    confine(config); // it is never started, and should not be worth starting
    for (int attempt = 0; attempt < most_lock_tries; ++attempt) {
        auto id = co_await engine.create_container(lock_name(request.cluster), config);
        if (id || id.error().kind != ErrorKind::conflict) {
            co_return id;
        }
        const auto containers = co_await engine.list_containers(
            {.labels = {std::string(labels::cluster) + "=" + request.cluster.str(),
                        std::string(labels::role) + "=lock"}});
        CO_TRY(containers);
        if (containers->empty()) {
            // Released in between, or being created: an engine reserves the name before the container can be
            // listed.
            co_await pause_for(lock_pause);
            continue;
        }
        const auto& there = containers->front();
        if (auto alive = co_await holder_alive(engine, request, there.labels, there.created_s)) {
            co_return *alive;
        }
        CO_TRY(co_await engine.remove_container(there.id));
    }
    co_return in_the_way(request);
}

Task<Status> break_stale(ContainerEngine& engine, const LockRequest& request, Labels stale) {
    const auto mutex = co_await take_container(engine, request);
    CO_TRY(mutex);
    const auto there = co_await engine.inspect_volume(lock_name(request.cluster));
    Status removed = ok;
    if (there && there->labels == stale) {
        removed = co_await engine.remove_volume(there->name);
    }
    const auto released = co_await engine.remove_container(*mutex);
    co_return removed ? released : removed;
}

} // namespace

LockHolder this_process() {
    std::array<char, 256> machine{};
    gethostname(machine.data(), machine.size() - 1);
    const auto account = own_account();
    return {.user = account.name.empty() ? std::to_string(geteuid()) : account.name,
            .machine = machine.data(),
            .boot = first_line("/proc/sys/kernel/random/boot_id"),
            .pid = getpid(),
            .process_start = process_start_of(getpid())};
}

std::string to_label(const LockHolder& holder) {
    return nlohmann::json{{"user", holder.user},
                          {"machine", holder.machine},
                          {"boot", holder.boot},
                          {"pid", holder.pid},
                          {"process_start", holder.process_start}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<LockHolder> parse_holder(const std::string& label) {
    const auto json = nlohmann::json::parse(label, nullptr, false);
    if (!json.is_object()) {
        return std::nullopt;
    }
    const auto text = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const auto pid = json.find("pid");
    return LockHolder{.user = text("user"),
                      .machine = text("machine"),
                      .boot = text("boot"),
                      .pid = pid != json.end() && pid->is_number_integer() ? pid->get<int>() : 0,
                      .process_start = text("process_start")};
}

bool may_be_alive(const LockHolder& holder, const LockHolder& us) {
    if (holder.machine != us.machine || holder.boot.empty()) {
        return true;
    }
    return holder.boot == us.boot && process_start_of(holder.pid) == holder.process_start;
}

std::chrono::seconds age_of(std::int64_t created_s, const std::string& system_time) {
    const auto now = parse_timestamp(system_time);
    if (created_s == 0 || !now) {
        return std::chrono::seconds(0);
    }
    const auto created = std::chrono::system_clock::from_time_t(created_s);
    return std::max(std::chrono::seconds(0),
                    std::chrono::duration_cast<std::chrono::seconds>(*now - created));
}

std::optional<Error> locked_by(const Labels& lock, const std::string& host, std::chrono::seconds age) {
    const auto holder = parse_holder(label_of(lock, labels::holder));
    if (!holder || age > lock_lifetime || !may_be_alive(*holder, this_process())) {
        return std::nullopt;
    }
    return Error{ErrorKind::locked, host,
                 fmt::format("{}@{} (pid {}) has been changing this cluster for {}", printable(holder->user),
                             printable(holder->machine), holder->pid, format_duration(age)),
                 "wait until that is done; if that process is gone, add --break-lock"};
}

Task<Status> take_lock(ContainerEngine& engine, LockRequest request) {
    for (int attempt = 0; attempt < most_lock_tries; ++attempt) {
        const auto lock = co_await engine.create_volume(lock_name(request.cluster), lock_labels(request));
        if (!lock) {
            if (!made_by_another_meanwhile(lock.error())) {
                co_return lock.error();
            }
            co_await pause_for(lock_pause);
            continue;
        }
        if (label_of(lock->labels, labels::attempt) == request.attempt) {
            co_return ok;
        }
        if (label_of(lock->labels, labels::cluster) != request.cluster.str()) {
            co_return in_the_way(request);
        }
        if (auto alive = co_await holder_alive(engine, request, lock->labels, lock->created_s)) {
            co_return *alive;
        }
        if (const auto broken = co_await break_stale(engine, request, lock->labels); !broken) {
            co_return broken;
        }
    }
    co_return in_the_way(request);
}

Task<void> release_lock(ContainerEngine& engine, ClusterName cluster, std::string attempt) {
    const auto lock = co_await engine.inspect_volume(lock_name(cluster));
    if (lock && label_of(lock->labels, labels::attempt) == attempt) {
        (void)co_await engine.remove_volume(lock->name); // one that stays is stale when this process is gone
    }
}

} // namespace dockdist
