#include "client/cli/host_lists.hpp"

#include "client/async/child_process.hpp"
#include "client/cli/scontrol.hpp"
#include "shared/core/program_path.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trusted_path.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dockdist {
namespace {

namespace fs = std::filesystem;

constexpr auto list_command_limit = std::chrono::seconds(60);
constexpr std::size_t longest_list = 16U << 20U;

Error of_list(std::string message, std::string hint) {
    return {ErrorKind::config, "", std::move(message), std::move(hint)};
}

Result<std::string> bounded(std::string text, const HostSource& source) {
    if (text.size() > longest_list) {
        return of_list(
            fmt::format("{} has more than {}", printable(source.place()), format_size({longest_list})),
            "is that a list of hosts?");
    }
    return text;
}

Result<ListText> as_list(Result<std::string> text) {
    return text ? Result<ListText>(ListText{.text = std::move(*text)}) : text.error();
}

Result<std::string> read_list_file(const fs::path& path, const HostSource& source) {
    const auto shown = printable(path.string());
    auto list = read_file(path, longest_list + 1);
    if (!list) {
        return of_list(fmt::format("the list {} cannot be read: {}", shown, list.error().message),
                       "a relative path is relative to the folder of cluster.yaml");
    }
    // Others than you may keep it: you have named it.
    if (const auto other = other_writer(path, &list->status); other && other->everybody) {
        return of_list(fmt::format("the list {} is refused: {}", shown, other->text),
                       "whoever names the hosts receives your code and secrets: keep the list "
                       "where only people you trust can write");
    }
    return bounded(std::move(list->text), source);
}

// Of a folder of variables: its files, and those of the folders in it, as Ansible takes them.
std::vector<fs::path> variable_files(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        const auto name = entry->path().filename().string();
        const auto ending = entry->path().extension();
        if (name.starts_with('.') || entry.depth() > 1) {
            entry.disable_recursion_pending();
        } else if (entry->is_regular_file(failed) && !name.ends_with('~') &&
                   (ending.empty() || ending == ".yml" || ending == ".yaml" || ending == ".json")) {
            files.push_back(entry->path());
        }
    }
    std::ranges::sort(files);
    return files;
}

Result<ListText> read_list(const HostSource& source) {
    auto text = read_list_file(source.file, source);
    if (!text || source.format != HostSource::Format::ansible) {
        return as_list(std::move(text));
    }
    ListText list{.text = std::move(*text)};
    const auto folder = fs::path(source.file).parent_path();
    std::size_t bytes = list.text.size();
    for (const auto* name : {"group_vars", "host_vars"}) {
        for (const auto& path : variable_files(folder / name)) {
            auto beside = read_list_file(path, source);
            bytes += beside ? beside->size() : 0;
            if (!beside || bytes > longest_list) {
                return beside ? of_list(fmt::format("{} and what is beside it have more than {}",
                                                    printable(source.file), format_size({longest_list})),
                                        "is that an inventory?")
                              : beside.error();
            }
            list.beside[path.lexically_relative(folder).generic_string()] = std::move(*beside);
        }
    }
    return list;
}

// What has to be nobody else's for a word to mean what it does: the file or folder that it names, or the
// folder in which it may come to be there; nothing for a word that names none.
fs::path to_judge(const fs::path& path, bool has_slash) {
    std::error_code failed;
    const auto kind = fs::status(path, failed).type();
    if (kind == fs::file_type::regular || kind == fs::file_type::directory ||
        failed == std::errc::permission_denied || fs::is_symlink(path, failed)) {
        return path;
    }
    const bool may_come = kind == fs::file_type::not_found && has_slash;
    return may_come && fs::is_directory(path.parent_path(), failed) ? path.parent_path() : fs::path();
}

// Whoever can write to one of these has what they like run as its reader: cluster.yaml as it was read; its
// folder, where the command begins (Python takes modules from there); the program; and whatever else the
// command's words name, as `[sh, ./hosts.sh]` runs that.
Status may_run(const SpecText& spec, const std::vector<std::string>& command, const fs::path& folder) {
    auto other = other_writer(spec.file, &spec.status);
    other = other ? other : other_writer(folder);
    for (std::size_t i = 0; i < command.size() && !other; ++i) {
        const auto named = folder / command[i];
        const auto path = i == 0 ? named : to_judge(named, command[i].find('/') != std::string::npos);
        other = path.empty() ? std::nullopt : other_writer(path);
    }
    return other ? Status(of_list(fmt::format("the command is not run: {}", other->text),
                                  "who can write there could run anything as you: make it yours alone "
                                  "(chown, chmod go-w), or keep what the command prints in a file, and "
                                  "name that: `from: FILE`"))
                 : ok;
}

Task<Result<std::string>> run_list_command(boost::asio::any_io_executor executor, HostSource source,
                                           SpecText spec) {
    const auto shown = printable(source.place());
    std::error_code failed;
    const auto folder = fs::absolute(spec.file, failed).parent_path();
    auto command = source.command;
    command.front() = find_in_path(command.front());
    if (command.front().empty() || !fs::exists(folder / command.front(), failed)) {
        co_return of_list(
            fmt::format("{}: there is no such program{}", shown, command.front().empty() ? " in PATH" : ""),
            "a program beside cluster.yaml is written `./PROGRAM`");
    }
    CO_TRY(may_run(spec, command, folder));
    auto answer =
        co_await run_and_read(executor, std::move(command), list_command_limit, "", longest_list + 1, folder);
    if (!answer) {
        const auto& error = answer.error();
        co_return of_list(error.kind == ErrorKind::timeout
                              ? fmt::format("{} did not end within {} s", shown, list_command_limit.count())
                              : fmt::format("{}: {}", shown, error.message),
                          "run it by hand, in the folder of cluster.yaml; no shell runs it");
    }
    if (answer->exit_code != 0 && answer->output.size() <= longest_list) {
        co_return of_list(fmt::format("{} failed with exit code {}{}{}", shown, answer->exit_code,
                                      answer->complaint.empty() ? "" : ": ", printable(answer->complaint)),
                          "run it by hand");
    }
    co_return bounded(std::move(answer->output), source);
}

} // namespace

Task<HostLists> read_host_lists(boost::asio::any_io_executor executor, std::vector<HostSource> sources,
                                SpecText spec) {
    HostLists lists;
    for (const auto& source : sources) {
        if (lists.contains(source)) {
            continue;
        }
        if (source.format == HostSource::Format::slurm) {
            lists.emplace(source, as_list(co_await read_own_allocation(executor)));
            continue;
        }
        if (source.command.empty()) {
            lists.emplace(source, read_list(source));
            continue;
        }
        lists.emplace(source, as_list(co_await run_list_command(executor, source, spec)));
    }
    co_return lists;
}

} // namespace dockdist
