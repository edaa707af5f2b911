// cluster.yaml: whatever stands in it, every mistake is told with its place, and what is accepted is sound
// and can be used.
#include "client/plan/node_config.hpp"
#include "client/spec/interpolate.hpp"
#include "client/spec/load_spec.hpp"
#include "client/spec/yaml_tree.hpp"
#include "fuzz/fuzz.hpp"
#include "shared/core/text.hpp"

#include <set>

namespace {

using namespace dockdist;

std::optional<std::string> variable(const std::string& name) {
    if (name == "EVIL") {
        return "x\n  - y: ${HOME}\x1b[2J";
    }
    return name == "A" || name == "HOME" ? std::optional<std::string>("/home/a") : std::nullopt;
}

void told(const Errors& errors, bool warnings) {
    for (const auto& error : errors) {
        fuzz::require(warnings || error.kind == ErrorKind::config,
                      "a mistake in the file is one of the configuration");
        fuzz::require(!error.message.empty(), "a mistake is told");
        fuzz::require(fuzz::has_no_controls(error.message) && fuzz::has_no_controls(error.hint) &&
                          fuzz::has_no_controls(error.where),
                      "no message has controls in it");
        fuzz::require(error.message.size() < 4096, "a message is bounded");
        fuzz::require(error.where.starts_with("/p/cluster.yaml"), "a mistake has its place");
    }
}

void accepted(const ClusterSpec& spec) {
    fuzz::require(is_plain_name(spec.name.str()), "a cluster's name fits everywhere");
    fuzz::require(!spec.hosts.empty(), "there is a host");
    std::set<std::string> names;
    for (const auto& node : expand_nodes(spec)) {
        fuzz::require(is_plain_name(node.name.str()), "a node's name fits everywhere");
        fuzz::require(names.insert(node.name.str()).second, "a node's name is its own");
        fuzz::require(node.host < spec.hosts.size(), "a node is on a host");
    }
    fuzz::require(names.size() <= 100'000, "there is a bound to the nodes");
    for (const auto& host : spec.hosts) {
        fuzz::require(!host.docker.host.starts_with('-') && !host.docker.user.starts_with('-'),
                      "nothing is read as an option");
        fuzz::require(fuzz::has_no_controls(host.name.str()), "a host's name has no controls");
        for (const auto& [name, value] : host.env) {
            fuzz::require(!name.empty() &&
                              name.find_first_of(std::string_view("=\0", 2)) == std::string::npos &&
                              value.find('\0') == std::string::npos,
                          "a variable is one variable");
        }
    }
    for (const auto& mount : spec.container.mounts) {
        fuzz::require(mount.target.starts_with('/'), "a mount's target is absolute");
    }
    for (const auto& sync : spec.sync) {
        fuzz::require(sync.target.starts_with('/'), "a sync's target is absolute");
    }
    for (const auto& [name, value] : spec.container.env) {
        fuzz::require(!name.empty() && name.find_first_of(std::string_view("=\0", 2)) == std::string::npos &&
                          value.find('\0') == std::string::npos,
                      "a variable is one variable");
    }
}

} // namespace

void fuzz::one_input(std::string_view input) {
    const auto [kind, rest] = kinded(input, 2);
    const std::string text(rest);
    if (kind == 1) {
        const auto said = interpolate(text, variable);
        require(has_no_controls(said.message), "no message has controls in it");
        require(said.message.empty() || said.offset <= text.size(), "a mistake has its place");
        const auto again = interpolate(text, variable);
        require_equal(said.text, again.text, "the same text gives the same");
        return;
    }
    const auto loaded = load_spec(text, "/p/cluster.yaml", variable, {.resolve_secrets = false});
    told(loaded.errors, false);
    told(loaded.warnings, true);
    if (loaded.errors.empty() && loaded.sources.empty()) {
        accepted(loaded.spec);
    }
    // Windows' line ends change nothing, and neither does a newline at the end.
    if (loaded.errors.empty() && text.find_first_of("\r|>\"'") == std::string::npos &&
        !text.ends_with('\n')) {
        require(
            load_spec(text + "\n", "/p/cluster.yaml", variable, {.resolve_secrets = false}).errors.empty(),
            "what is accepted is accepted with a newline at its end");
    }
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    for (const auto& text : recorded_files("templates", ".yaml")) {
        all.push_back(of_kind(0, text));
    }
    for (const auto& text : recorded_files("tests/golden/spec", ".yaml")) {
        all.push_back(of_kind(0, text));
    }
    all.push_back(of_kind(0, "image: a\nhosts:\n  - &a {docker: unix:///run/docker.sock, env: {A: ${A}}, "
                             "gpus: none}\n  - {<<: *a, "
                             "docker: ssh://u@h, nodes: 2, name: b}\n"));
    all.push_back(of_kind(0,
                          "image: a\nhosts:\n  - {docker: \"ssh://g[1-9/2]\", name: \"x%i\", groups: [r]}\n"
                          "groups: {q: \"x[0-2]\", p: [\"@q\"]}\nmin_nodes: 2\n"));
    for (const auto* text : {"${A}", "${B:-d}", "${B-d}", "${B:?no}", "${B?no}", "${A:+x}", "${A+x}", "$A$$",
                             "${B:-${A}}", "${EVIL}", "${"}) {
        all.push_back(of_kind(1, text));
    }
    return all;
}
