#include "cli/host_lists.hpp"

#include "async/child_process.hpp"
#include "cli/scontrol.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace dockdist {
namespace {

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

Result<std::string> read_list_file(const HostSource& source) {
    std::error_code failed;
    std::ifstream file(source.file, std::ios::binary);
    if (!file || std::filesystem::is_directory(source.file, failed)) {
        return of_list(fmt::format("the list {} cannot be read: {}", printable(source.file),
                                   file ? "it is a folder" : std::generic_category().message(errno)),
                       "a relative path begins at the folder of cluster.yaml");
    }
    std::string text(longest_list + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return bounded(std::move(text), source);
}

// cluster.yaml is also looked for in parent folders: /tmp/cluster.yaml of somebody else must not run there as
// us what he likes (git has safe.directory for that).
Status may_run(const std::filesystem::path& spec_file) {
    struct stat there{};
    if (::stat(spec_file.c_str(), &there) != 0) {
        return of_list(fmt::format("{} cannot be looked at", printable(spec_file.string())), "");
    }
    if ((there.st_uid != ::geteuid() && there.st_uid != 0) || (there.st_mode & S_IWOTH) != 0) {
        return of_list(fmt::format("the command is not run: {} {}", printable(spec_file.string()),
                                   (there.st_mode & S_IWOTH) != 0 ? "may be written by everybody"
                                                                  : "is another user's file"),
                       "who can write it could run anything as you: make it your own (chown, chmod o-w)");
    }
    return ok;
}

Task<Result<std::string>> run_list_command(boost::asio::any_io_executor executor, HostSource source) {
    const auto shown = printable(source.place());
    auto answer = co_await run_and_read(executor, source.command, list_command_limit, "", longest_list + 1);
    if (!answer) {
        const auto& error = answer.error();
        co_return of_list(
            error.kind == ErrorKind::timeout
                ? fmt::format("{} did not end within {} s", shown, list_command_limit.count())
                : fmt::format("{}: {}", shown, error.message),
            "run it by hand; no shell runs it, and its program is looked for in PATH or, with a "
            "`/`, from the folder of cluster.yaml");
    }
    if (answer->exit_code != 0 && answer->output.size() <= longest_list) {
        co_return of_list(fmt::format("{} failed with exit code {}{}{}", shown, answer->exit_code,
                                      answer->complaint.empty() ? "" : ": ", printable(answer->complaint)),
                          "run it by hand");
    }
    co_return bounded(std::move(answer->output), source);
}

} // namespace

Task<std::map<HostSource, Result<std::string>>> read_host_lists(boost::asio::any_io_executor executor,
                                                                std::vector<HostSource> sources,
                                                                std::filesystem::path spec_file) {
    std::map<HostSource, Result<std::string>> lists;
    for (const auto& source : sources) {
        if (lists.contains(source)) {
            continue;
        }
        if (source.format == HostSource::Format::slurm) {
            lists.emplace(source, co_await read_own_allocation(executor));
            continue;
        }
        if (source.command.empty()) {
            lists.emplace(source, read_list_file(source));
            continue;
        }
        if (const auto allowed = may_run(spec_file); !allowed) {
            lists.emplace(source, allowed.error());
            continue;
        }
        lists.emplace(source, co_await run_list_command(executor, source));
    }
    co_return lists;
}

} // namespace dockdist
