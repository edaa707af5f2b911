#include "client/spec/sections.hpp"

#include <fmt/format.h>

#include <array>

namespace dockdist {
namespace {

void read_command(Reader& reader, const Value& value, SetupSpec& setup) {
    if (auto text = reader.text(value, "a command")) {
        if (text->find_first_not_of(" \t\r\n") == std::string::npos) {
            reader.error(value, "the command is empty", "write what `sh -c` is to run");
            return;
        }
        setup.run = std::move(*text);
    }
}

constexpr std::array setup_table{
    Key<SetupSpec>{"run", read_command},
    Key<SetupSpec>{"user", [](Reader& reader, const Value& value,
                              SetupSpec& setup) { setup.user = read_account(reader, value); }},
    Key<SetupSpec>{"target",
                   [](Reader& reader, const Value& value, SetupSpec& setup) {
                       setup.target = read_target(reader, value).value_or("");
                   }},
};

} // namespace

std::span<const Key<SetupSpec>> setup_keys() {
    return setup_table;
}

void read_setup(Reader& reader, const Value& value, ClusterDraft& draft) {
    for (const auto& item : reader.list(value, "a list", "write `setup: [\"pip install -e /workspace\"]`")) {
        SetupSpec setup;
        if (item.node->kind == YamlNode::Kind::map) {
            read_keys(reader, item, setup_keys(), setup);
            if (item.node->find("run") == nullptr) {
                reader.error(item, "`run` is missing", "write {run: apt-get install -y git, user: root}");
            }
        } else {
            read_command(reader, item, setup);
        }
        if (draft.spec.setup.size() == most_setup_lines) {
            reader.error(item, fmt::format("`setup` has more than {} commands", most_setup_lines),
                         "put them into a script that `sync` brings to the nodes");
            return;
        }
        if (!setup.run.empty()) {
            draft.spec.setup.push_back(std::move(setup));
        }
    }
}

} // namespace dockdist
