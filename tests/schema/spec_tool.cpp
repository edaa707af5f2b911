// What test_schema.py asks of the parser: `keys` prints the sections and their keys, `check FILE…` the errors
// of files.
#include "client/spec/load_spec.hpp"
#include "client/spec/spec_keys.hpp"

#include <nlohmann/json.hpp>

#include <iostream>

using nlohmann::json;

namespace {

json keys() {
    json sections = json::object();
    for (const auto& section : dockdist::spec_sections()) {
        json words = json::object();
        for (const auto& key : section.keys) {
            words[std::string(key.name)] = key.words;
        }
        sections[std::string(section.path)] = words;
    }
    return sections;
}

json errors_of(const std::string& file) {
    const auto environment = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
    json messages = json::array();
    for (const auto& error : dockdist::load_spec_file(file, environment).errors) {
        messages.push_back(dockdist::to_text(error));
    }
    return messages;
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.empty()) {
        return 2;
    }
    json answer = json::object();
    if (arguments.front() == "keys") {
        answer = keys();
    }
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        answer[arguments[i]] = errors_of(arguments[i]);
    }
    std::cout << answer.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    return 0;
}
