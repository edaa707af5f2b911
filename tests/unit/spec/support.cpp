#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace dockdist::test {

Environment environment(std::map<std::string, std::string> variables) {
    return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

LoadedSpec load(const std::string& text, std::map<std::string, std::string> variables) {
    return load_spec(text, "/home/ada/vision/cluster.yaml", environment(std::move(variables)));
}

ClusterSpec load_good(const std::string& text, std::map<std::string, std::string> variables) {
    const auto loaded = load(text, std::move(variables));
    REQUIRE_MESSAGE(loaded.errors.empty(), all_text(loaded.errors));
    return loaded.spec;
}

ClusterSpec load_container(const std::string& keys, std::map<std::string, std::string> variables) {
    return load_good("image: a\nhosts: [ssh://h]\ncontainer:\n" + keys, std::move(variables));
}

std::string all_text(const Errors& errors) {
    std::string text;
    for (const auto& error : errors) {
        text += to_text(error) + "\n";
    }
    return text;
}

std::filesystem::path source_folder() {
    return DOCKDIST_SOURCE_DIR;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            const std::string& extension) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == extension) {
            files.push_back(entry.path());
        }
    }
    std::ranges::sort(files);
    return files;
}

} // namespace dockdist::test
