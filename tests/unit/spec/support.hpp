#pragma once

#include "client/spec/load_spec.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dockdist::test {

// An environment that holds these variables and no others.
Environment environment(std::map<std::string, std::string> variables = {});

LoadedSpec load(const std::string& text, std::map<std::string, std::string> variables = {});

// `text` with the two keys that every file needs; fails the test when there are errors.
ClusterSpec load_good(const std::string& text, std::map<std::string, std::string> variables = {});
ClusterSpec load_container(const std::string& keys, std::map<std::string, std::string> variables = {});

std::string all_text(const Errors& errors); // one a paragraph

std::filesystem::path source_folder();
std::string read_file(const std::filesystem::path& path);
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            const std::string& extension); // sorted

} // namespace dockdist::test
