#include "cli/nodes/forwarding.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace dockdist {
namespace {

Task<Result<NodeDoor>> find_door(Context& context, const ClusterSpec& spec, const Engines& engines,
                                 NodeName name, std::size_t host) {
    QuietReporter quiet(*context.reporter);
    std::vector<bool> only(spec.hosts.size(), false);
    only[host] = true;
    const auto seen = co_await observe(spec, engines, "", quiet, std::move(only));
    if (!seen.errors.empty()) {
        co_return seen.errors.front();
    }
    const auto& nodes = seen.cluster.hosts[host].nodes;
    const auto found = std::ranges::find(nodes, name, &ObservedNode::node);
    if (found == nodes.end() || found->state != ContainerState::running) {
        co_return Error{ErrorKind::node, name.str(), "its container does not run",
                        "`dockdist up` brings it back"};
    }
    co_return NodeDoor{.engine = engines[host].get(), .id = found->id};
}

nlohmann::json to_json(const LocalPort& port) {
    return {{"local", port.number},
            {"addresses", port.addresses()},
            {"host", port.target.host.empty() ? nlohmann::json() : nlohmann::json(port.target.host)},
            {"port", port.target.port},
            {"url", port.url()}};
}

// A session of its own: Ctrl-C here is not for it.
bool start_program(const std::string& program, const std::string& url) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&actions);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    const std::array<char*, 3> words{const_cast<char*>(program.c_str()), const_cast<char*>(url.c_str()),
                                     nullptr};
    pid_t pid = 0;
    const int failed = ::posix_spawnp(&pid, program.c_str(), &actions, &attributes, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    return failed == 0;
}

} // namespace

ForwardPorts parse_forward_ports(const std::vector<std::string>& texts, const std::string& option) {
    ForwardPorts all;
    for (const auto& text : texts) {
        auto port = parse_forward_port(text, option);
        if (!port) {
            all.errors.push_back(port.error());
        } else if (port->local != 0 &&
                   std::ranges::find(all.ports, port->local, &ForwardPort::local) != all.ports.end()) {
            all.errors.push_back({ErrorKind::usage, option,
                                  fmt::format("port {} of this machine is asked for twice", port->local),
                                  "each leads to one place: give the other another number, or 0 for any"});
        } else {
            all.ports.push_back(std::move(*port));
        }
    }
    return all;
}

std::unique_ptr<Forwarder> make_forwarder(Context& context, const ClusterSpec& spec, const Engines& engines,
                                          const ReadyNode& node, std::vector<LocalPort> ports) {
    return std::make_unique<Forwarder>(
        context.executor, node.name, std::move(ports),
        NodeDoor{.engine = engines[node.host].get(), .id = node.id},
        [&context, &spec, &engines, name = node.name, host = node.host] {
            return find_door(context, spec, engines, name, host);
        },
        *context.reporter);
}

void tell_forwarded(const Context& context, const std::vector<LocalPort>& ports, const NodeName& node) {
    if (context.json()) {
        auto list = nlohmann::json::array();
        for (const auto& port : ports) {
            list.push_back(to_json(port));
        }
        return context.print_json({{"type", "forward"}, {"node", node.str()}, {"ports", std::move(list)}});
    }
    for (const auto& port : ports) {
        const auto here = port.target.host.empty() ? port.url() : fmt::format("127.0.0.1:{}", port.number);
        context.reporter->on({.kind = Event::Kind::note,
                              .text = fmt::format("{} → {}", here, target_text(port.target, node.str()))});
    }
}

ForwardingBeside::ForwardingBeside(const Context& context, std::unique_ptr<Forwarder> forwarder,
                                   NodeName node)
    : context_(context), forwarder_(std::move(forwarder)), node_(std::move(node)),
      children_(context.executor) {}

Task<void> ForwardingBeside::forward() {
    auto ended = co_await forwarder_->run([this] { tell_forwarded(context_, forwarder_->ports(), node_); });
    ended.where = ended.where.empty() ? node_.str() : ended.where;
    ended.message = "its ports are not forwarded: " + ended.message;
    context_.reporter->on(warning_event(ended));
}

Task<void> ForwardingBeside::end() {
    children_.cancel();
    (void)co_await children_.join(detail::Children::OnCancel::ignore);
}

void open_browser(const Context& context, const std::string& url) {
    const auto own = client_environment("BROWSER").value_or("");
    std::vector<std::string> programs;
    for (const auto& program : split(own, ':')) { // several, tried in turn
        if (!program.empty()) {
            programs.push_back(program);
        }
    }
    programs.insert(programs.end(), {"xdg-open", "open"});
    const bool opened =
        std::ranges::any_of(programs, [&](const auto& program) { return start_program(program, url); });
    if (!opened) {
        context.reporter->on(
            {.kind = Event::Kind::warning,
             .text = "no browser was found here ($BROWSER, xdg-open, open): open " + url + " yourself"});
    }
}

} // namespace dockdist
