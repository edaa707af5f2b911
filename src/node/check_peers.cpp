#include "node/check_peers.hpp"

#include "core/text.hpp"
#include "node/os.hpp"
#include "node/paths.hpp"
#include "node/process.hpp"
#include "wire/join.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t most_at_once = 16; // logins under way from one node: a peer's sshd sees every node's
constexpr int login_limit_ms = 10000;

std::string last_line(const std::string& text) {
    const auto lines = split(text, '\n');
    const auto last =
        std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) { return !line.empty(); });
    return last == lines.rend() ? "" : printable(*last);
}

bool log_in(const std::string& peer) {
    const auto begin = monotonic_ms();
    const auto done = run_helper(
        paths().ssh,
        {"ssh", "-F", paths().ssh_config, "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", peer, "true"},
        clean_environment(), login_limit_ms);
    nlohmann::json line{{"peer", peer}, {"ok", done.code == 0}, {"ms", monotonic_ms() - begin}};
    if (done.code != 0) {
        const auto said = last_line(done.output);
        line["message"] =
            !said.empty() ? said : (done.code < 0 ? "no answer within 10 s" : "ssh failed without a word");
    }
    // One write: lines of several processes do not mix.
    (void)write_all(STDOUT_FILENO,
                    line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return done.code == 0;
}

} // namespace

int run_check_peers() {
    const auto members = wire::parse_members(read_file_or_empty(paths().members));
    const auto self = nlohmann::json::parse(read_file_or_empty(paths().node_record), nullptr, false);
    if (!members || !self.is_object()) {
        (void)write_all(STDERR_FILENO, "dockdist-init: this node has not joined its cluster\n");
        return 2;
    }
    std::vector<std::string> peers;
    for (const auto& node : members->nodes) {
        if (node.node != self.value("node", "")) {
            peers.push_back(node.node);
        }
    }
    const auto workers = std::min(peers.size(), most_at_once);
    for (std::size_t worker = 0; worker < workers; ++worker) {
        if (fork() == 0) {
            bool all = true;
            for (std::size_t i = worker; i < peers.size(); i += workers) {
                all = log_in(peers[i]) && all;
            }
            _exit(all ? 0 : 1);
        }
    }
    int code = 0;
    int status = 0;
    while (wait(&status) > 0) {
        code = status == 0 ? code : 1;
    }
    return code;
}

} // namespace dockdist::node
