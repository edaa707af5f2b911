// What arguments mean in every command. Called once, when all commands are there. Pure, but for
// refuse_files_as_names, which looks whether there is such a file.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace dockdist {

// A command that goes by the file, and takes no other arguments, takes it as one: `gpus cluster.yaml`.
void take_file_everywhere(CLI::App& app, std::string& file);

// `logs cluster.yaml`, `exec cluster.yaml -- nvidia-smi`: what is wanted there is a job, or a node.
void refuse_files_as_names(CLI::App& app);

// An empty word is what a script's unset variable leaves (`stop "$JOB"`), and means nothing anywhere. Of a
// command to be run it is the program alone that must have a name.
void refuse_empty_words(CLI::App& app);

} // namespace dockdist
