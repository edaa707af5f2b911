// `from` of an item of `hosts`: where a list of hosts is, and how it is written.
#include "client/spec/sections.hpp"
#include "shared/core/text.hpp"

#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 3> format_words{"hosts", "ansible",
                                                       "clush"}; // in the order of HostSource::Format

void read_list_file(Reader& reader, const Value& value, HostSource& source) {
    if (const auto path = reader.line(value, "a file's path")) {
        source.file = reader.client_path(value, *path).value_or("");
    }
}

// No shell sees it: what only a shell would understand is refused, not passed on.
void read_list_command(Reader& reader, const Value& value, HostSource& source) {
    std::vector<std::string> words;
    if (value.node->kind == YamlNode::Kind::scalar) {
        const auto line = reader.line(value, "a command").value_or("");
        if (const auto odd = line.find_first_of("|&;<>()$`\\\"'*?~{}#!"); odd != std::string::npos) {
            reader.error(value, "`" + line.substr(odd, 1) + "` has a meaning for a shell, and none runs here",
                         "write the program and its arguments as a list, or `[sh, -c, '…']`");
            return;
        }
        words = split(line, ' ');
        std::erase(words, "");
    } else {
        for (const auto& item : reader.list(value, "a command", "write it as a list: [PROGRAM, ARGUMENT]")) {
            words.push_back(reader.text(item, "an argument").value_or(""));
        }
        if (!words.empty() && words.front().empty()) {
            return; // told
        }
        if (words.empty() && value.node->kind == YamlNode::Kind::list) {
            reader.error(value, "the list is empty", "write the program and its arguments");
        }
    }
    if (!words.empty() && words.front().find('/') != std::string::npos) {
        words.front() = reader.client_path(value, words.front()).value_or(words.front());
    }
    source.command = std::move(words);
}

constexpr std::array source_table{
    Key<HostSource>{"file", read_list_file},
    Key<HostSource>{"command", read_list_command},
    Key<HostSource>{"format",
                    [](Reader& reader, const Value& value, HostSource& source) {
                        if (const auto index = reader.word(value, format_words)) {
                            source.format = static_cast<HostSource::Format>(*index);
                        }
                    },
                    format_words},
    Key<HostSource>{"group",
                    [](Reader& reader, const Value& value, HostSource& source) {
                        source.group = reader.line(value, "a group of the list").value_or("");
                    }},
};

} // namespace

std::span<const Key<HostSource>> source_keys() {
    return source_table;
}

bool is_slurm(const Value& value) {
    return value.node->kind == YamlNode::Kind::scalar && value.node->text == "slurm";
}

void read_source(Reader& reader, const Value& value, HostDraft& draft) {
    draft.from = value;
    const auto before = reader.errors();
    HostSource source;
    if (is_slurm(value)) {
        source.format = HostSource::Format::slurm;
    } else if (value.node->kind == YamlNode::Kind::scalar) {
        read_list_file(reader, value, source);
    } else if (reader.is_map(value, "a file's path, or a map",
                             "write `from: hosts.txt`, or `from: {command: …}`")) {
        read_keys(reader, value, source_keys(), source);
        const bool file = value.node->find("file") != nullptr;
        const bool command = value.node->find("command") != nullptr;
        if (file == command) {
            reader.error(value,
                         file ? "there are both `file` and `command`" : "`file` or `command` is missing",
                         file ? "keep one of them"
                              : "write where the list is: `file: PATH`, or a command that prints it");
        }
        if (!source.group.empty() && source.format == HostSource::Format::hosts) {
            reader.error(value, "a plain list has no groups", "write `format: ansible` or `format: clush`");
        }
    } else {
        if (value.node->kind == YamlNode::Kind::null) {
            reader.expected(value, "a file's path, or a map", "write `from: hosts.txt`");
        }
        return;
    }
    if (reader.errors() == before) {
        draft.source = std::move(source);
    }
}

} // namespace dockdist
