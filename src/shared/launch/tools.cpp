// What a launcher needs of the image: asked on every node before anything starts, in one round trip.
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/launcher.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace dockdist {

// Prints "NAME VERSION" lines without importing what may take seconds to import.
extern const char* const tool_versions_py;

namespace {

constexpr const char* python_name = "python";
constexpr const char* settings_name = "settings"; // Launcher::question

std::vector<Tool> tools_of(const Launcher& launcher, const LaunchRequest& request) {
    return launcher.tools == nullptr ? std::vector<Tool>{} : launcher.tools(request);
}

bool has_a_version(const std::string& line) {
    for (std::size_t i = 1; i + 1 < line.size(); ++i) {
        if (line[i] == '.' && std::isdigit(static_cast<unsigned char>(line[i - 1])) != 0 &&
            std::isdigit(static_cast<unsigned char>(line[i + 1])) != 0) {
            return true;
        }
    }
    return false;
}

// "Open MPI 5.0.7" of "mpirun (Open MPI) 5.0.7", "MPICH 4.3.0" of Hydra's details; else the first line that
// has a version and is no warning, else the first one.
std::string version_line(const std::string& output) {
    const bool hydra = output.find("HYDRA") != std::string::npos;
    std::string first;
    for (const auto& line : split(output, '\n')) {
        if (const auto at = line.find("(Open MPI) "); at != std::string::npos) {
            return "Open MPI " + line.substr(at + 11);
        }
        if (const auto at = line.find("Version:"); at != std::string::npos && hydra) {
            const auto number = line.find_first_not_of(' ', at + 8);
            return "MPICH " + (number == std::string::npos ? "" : line.substr(number));
        }
        if (first.empty() && has_a_version(line) && line.find("arning") == std::string::npos &&
            line.find("WARN") == std::string::npos) {
            first = line;
        }
    }
    return !first.empty() ? first : output.substr(0, output.find('\n'));
}

// Of "NAME VERSION" lines, whatever else the image's Python says at its start or end, and however it ends.
std::map<std::string, std::string> named_versions(const wire::Answer& answer) {
    std::map<std::string, std::string> versions;
    for (const auto& line : split(answer.output, '\n')) {
        const auto space = line.find(' ');
        const bool is_name = space != std::string::npos && space > 0 &&
                             std::ranges::all_of(line.substr(0, space), [](unsigned char c) {
                                 return std::isalnum(c) || c == '_' || c == '-' || c == '.';
                             });
        if (is_name && line.find(' ', space + 1) == std::string::npos) {
            versions[line.substr(0, space)] = line.substr(space + 1);
        }
    }
    return answer.code == 0 || versions.contains("python") ? versions : std::map<std::string, std::string>{};
}

// Of "NAME VALUE" lines.
std::map<std::string, std::string> named_values(const wire::Answer& answer) {
    std::map<std::string, std::string> values;
    for (const auto& line : split(answer.output, '\n')) {
        const auto space = line.find(' ');
        if (answer.code == 0 && space != std::string::npos) {
            values[line.substr(0, space)] = line.substr(space + 1);
        }
    }
    return values;
}

Error missing(const LaunchNode& node, const Tool& tool, const std::string& launcher) {
    const bool no_python = tool.kind == Tool::Kind::python_module && !node.versions.contains("python");
    const std::string what = no_python ? "Python" : std::string(tool.name);
    return {ErrorKind::config, node.name.str(),
            "the image has no " + what + ", which the launcher " + launcher + " needs",
            no_python ? "take an image with Python 3, or --launcher plain" : std::string(tool.how_to_add)};
}

Error differs(const LaunchNode& first, const LaunchNode& node, const std::string& tool) {
    return {ErrorKind::config, node.name.str(),
            "it has " + tool + " " + printable(node.versions.at(tool)) + ", and " + first.name.str() +
                " has " + printable(first.versions.at(tool)),
            "give every node the same image: the same tag can be another image on another host "
            "(`dockdist image push --from HOST`, then `dockdist up`)"};
}

} // namespace

wire::Question python_question(std::vector<std::string> modules, std::string_view more) {
    modules.insert(modules.begin(), {"python", "-c", tool_versions_py + std::string(more)});
    return {.name = python_name, .argv = std::move(modules)};
}

std::map<std::string, std::string> versions_of(const wire::LaunchFacts& facts) {
    std::map<std::string, std::string> versions;
    for (const auto& answer : facts.answers) {
        if (answer.name == python_name) {
            versions.merge(named_versions(answer));
        } else if (answer.name != settings_name) {
            versions[answer.name] = answer.code == exit_codes::not_found ? "" : version_line(answer.output);
        }
    }
    return versions;
}

std::vector<wire::Question> questions(const Launcher& launcher, const LaunchRequest& request) {
    std::vector<wire::Question> questions;
    std::vector<std::string> modules;
    for (const auto& tool : tools_of(launcher, request)) {
        const std::string name(tool.name);
        if (tool.kind == Tool::Kind::python_module) {
            modules.push_back(name);
        } else {
            questions.push_back({.name = name, .argv = {name, "--version"}});
        }
    }
    if (!modules.empty()) {
        questions.push_back(python_question(std::move(modules)));
    }
    if (auto more = launcher.question == nullptr ? std::nullopt : launcher.question(request)) {
        more->name = settings_name;
        questions.push_back(std::move(*more));
    }
    return questions;
}

Errors take_answers(const Launcher& launcher, LaunchRequest& request,
                    const std::vector<wire::LaunchFacts>& facts) {
    Errors errors;
    const auto tools = tools_of(launcher, request);
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
        auto& node = request.nodes[i];
        node.versions = versions_of(facts[i]);
        const auto told = std::ranges::find(facts[i].answers, settings_name, &wire::Answer::name);
        if (told != facts[i].answers.end()) {
            node.settings = named_values(*told);
        }
        for (const auto port : facts[i].ports) {
            node.ports.push_back(Port{static_cast<std::uint16_t>(port)});
        }
        const auto lacking = std::ranges::find_if(tools, [&](const Tool& tool) {
            const auto found = node.versions.find(std::string(tool.name));
            return tool.required && (found == node.versions.end() || found->second.empty());
        });
        if (lacking != tools.end()) {
            errors.push_back(missing(node, *lacking, std::string(launcher.name)));
            continue;
        }
        const auto& first = request.nodes.front();
        for (const auto& [tool, version] : node.versions) {
            if (const auto found = first.versions.find(tool);
                found != first.versions.end() && !found->second.empty() && found->second != version) {
                errors.push_back(differs(first, node, tool));
                break;
            }
        }
    }
    request.ports = request.nodes.front().ports;
    return errors;
}

} // namespace dockdist
