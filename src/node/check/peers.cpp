#include "node/check/peers.hpp"

#include "node/system/on_record.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/quick_ssh.hpp"
#include "node/system/side_by_side.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"
#include "shared/wire/partial.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::size_t most_logins_at_once =
    16; // logins under way from one node: a peer's sshd sees every node's
constexpr int login_limit_ms = 10000;
constexpr int all_limit_ms = 15000;

wire::PeerLogin try_login(const std::string& peer) {
    const auto begin = monotonic_ms();
    const auto login = log_in(peer, {layout::init, "limits"}); // the one program that every node has
    return {.peer = peer,
            .ok = login.code == 0,
            .ms = static_cast<int>(monotonic_ms() - begin),
            .message = login.code == 0 ? "" : why(login)};
}

} // namespace

std::string own_node_name() {
    const auto self = nlohmann::json::parse(read_file_or_empty(paths().node_record), nullptr, false);
    return self.is_object() && self.contains("node") && self["node"].is_string() ? self["node"] : "";
}

Finished log_in(const std::string& node, const std::vector<std::string>& command) {
    auto argv = quick_ssh();
    argv.insert(argv.end(), {"-o", "BatchMode=yes", "-o", "ConnectTimeout=5", node});
    std::ranges::copy(command, std::back_inserter(argv));
    return run_helper(toolkit_helper(paths().ssh, std::move(argv), recorded_account()), login_limit_ms);
}

std::string why(const Finished& login) {
    if (login.code < 0) {
        return "no answer within 10 s";
    }
    const auto lines = split(login.output, '\n');
    const auto last =
        std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) { return !line.empty(); });
    return last == lines.rend() ? "ssh failed without a message" : printable(*last);
}

Result<std::vector<wire::PeerLogin>> log_in_to_all(const std::vector<std::string>& peers) {
    return wire::read_partial<std::vector<wire::PeerLogin>>(
        shared_out(
            peers.size(), most_logins_at_once, [&](std::size_t i) { return try_login(peers[i]); },
            all_limit_ms),
        "what the logins came to");
}

Result<wire::LogInsQuestion::Answer> answer_logins(const wire::LogInsQuestion& question) {
    auto logins = log_in_to_all(question.peers);
    TRY(logins);
    return wire::LogInsQuestion::Answer{.logins = std::move(*logins)};
}

} // namespace dockdist::node
