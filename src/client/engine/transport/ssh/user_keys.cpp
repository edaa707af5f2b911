#include "client/engine/transport/ssh/user_keys.hpp"

#include "client/async/with_timeout.hpp"
#include "client/engine/transport/ssh/packet.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dockdist {
namespace {

constexpr auto agent_limit = std::chrono::seconds(60); // it may ask a person to unlock it

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool is_certificate(std::string_view blob) {
    return key_type(blob).find("-cert-v") != std::string_view::npos;
}

struct AgentWithKeys {
    std::unique_ptr<SshAgent> agent{};
    std::vector<AgentKey> keys{};
};

Task<Status> ask_agent(std::shared_ptr<AgentWithKeys> found, boost::asio::any_io_executor executor,
                       std::string socket) {
    auto agent = co_await SshAgent::connect(executor, socket);
    CO_TRY(agent);
    auto keys = co_await (*agent)->keys();
    CO_TRY(keys);
    found->agent = std::move(*agent);
    found->keys = std::move(*keys);
    co_return ok;
}

class Finder {
public:
    explicit Finder(const SshSettings& settings) : settings_(settings) {
        const auto home = ssh_surroundings().home;
        for (const auto& path : settings.identity_files) {
            auto file = inspect_key(read(path), read(path + ".pub"));
            std::error_code ignored;
            if (std::filesystem::exists(path + "-cert.pub", ignored)) {
                leave_to_ssh(short_path(path, home) + " has a certificate");
                found_.only_by_ssh = true;
            }
            if (!file.text.empty() || !file.blob.empty()) {
                files_.emplace_back(short_path(path, home), std::move(file));
            }
        }
    }

    // As ssh has it: first those that the configuration names.
    void take(const std::vector<AgentKey>& keys) {
        for (const bool named : {true, false}) {
            for (const auto& key : keys) {
                if (is_named(key.blob) == named && (named || !settings_.identities_only)) {
                    take(key);
                }
            }
        }
    }

    UserKeys finish() {
        for (auto& [name, file] : files_) {
            take(name, file);
        }
        found_.only_by_ssh = found_.only_by_ssh || (found_.keys.empty() && !found_.left_out.empty());
        return std::move(found_);
    }

    void unavailable(std::string what) { found_.unavailable.push_back(std::move(what)); }
    void take(std::shared_ptr<SshAgent> agent) { found_.agent = std::move(agent); }

private:
    void leave_to_ssh(std::string what) { found_.left_out.push_back(std::move(what)); }

    bool is_named(std::string_view blob) const {
        return std::ranges::any_of(files_, [&](const auto& file) { return file.second.blob == blob; });
    }

    void take(const AgentKey& key) {
        in_agent_.push_back(key.blob);
        const auto name = fmt::format("{} (agent: {})", key_type(key.blob), printable(key.comment));
        if (is_certificate(key.blob)) {
            found_.left_out.insert(found_.left_out.begin(), name);
            found_.only_by_ssh = true;
        } else if (const auto why = why_not_offered(key.blob, settings_.algorithms); !why.empty()) {
            leave_to_ssh(name + ": " + why);
        } else {
            found_.keys.push_back({name, key.blob, {}});
        }
    }

    void take(const std::string& name, const KeyFile& file) {
        if (file.text.empty() || std::ranges::find(in_agent_, file.blob) != in_agent_.end()) {
            return; // the agent's business
        }
        if (!file.plain) {
            leave_to_ssh(name +
                         (file.blob.empty() ? " is in a form that" : " has a passphrase, or a form that") +
                         " dockdist does not read");
        } else if (const auto why = why_not_offered(file.blob, settings_.algorithms); !why.empty()) {
            leave_to_ssh(name + ": " + why);
        } else if (auto key = PrivateKey::read(file)) {
            found_.keys.push_back({name, file.blob, std::move(key)});
        } else {
            leave_to_ssh(name + " is damaged, or of a kind that dockdist does not read");
        }
    }

    const SshSettings& settings_;
    std::vector<std::pair<std::string, KeyFile>> files_{};
    std::vector<std::string> in_agent_{};
    UserKeys found_{};
};

} // namespace

Task<UserKeys> find_user_keys(boost::asio::any_io_executor executor, SshSettings settings) {
    Finder finder(settings);
    if (settings.agent_socket.empty()) {
        finder.unavailable("no ssh agent runs");
        co_return finder.finish();
    }
    const Error late{.message = "the ssh agent does not answer"};
    const auto agent = std::make_shared<AgentWithKeys>();
    const auto asked =
        co_await with_timeout(ask_agent(agent, executor, settings.agent_socket), agent_limit, late);
    if (asked) {
        finder.take(agent->keys);
        finder.take(std::shared_ptr<SshAgent>(std::move(agent->agent)));
    } else {
        finder.unavailable(asked.error().message);
    }
    co_return finder.finish();
}

} // namespace dockdist
