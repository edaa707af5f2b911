#include "client/cli/itself/own_rows.hpp"
#include "client/cli/own_home.hpp"
#include "client/image/temporary_files.hpp"
#include "client/own_ssh/login_files.hpp"
#include "client/report/output.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gnu/libc-version.h>
#include <locale.h>
#include <optional>
#include <string_view>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace dockdist {
namespace {

namespace fs = std::filesystem;
using OwnState = CheckRow::State;

// memfd_create(2), the newest call that this program cannot do without.
constexpr std::array oldest_kernel{3, 17};
constexpr std::uint64_t little_room = std::uint64_t{1} << 30;
constexpr rlim_t few_files = 1024;

std::string distribution() {
    for (const auto* path : {"/etc/os-release", "/usr/lib/os-release"}) {
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("PRETTY_NAME=")) {
                std::erase(line, '"');
                return printable(line.substr(line.find('=') + 1)) + ", ";
            }
        }
    }
    return "";
}

// Of "6.1.0-18-amd64"; nothing where the kernel doesn't say it so.
std::optional<std::array<int, 2>> version_of(std::string_view release) {
    const auto dot = release.find('.');
    if (dot == std::string_view::npos) {
        return std::nullopt;
    }
    const auto rest = release.substr(dot + 1);
    const auto major = whole_number<int>(release.substr(0, dot));
    const auto minor = whole_number<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
    return major && minor ? std::optional(std::array{*major, *minor}) : std::nullopt;
}

CheckRow system_row() {
    utsname names{};
    ::uname(&names);
    CheckRow row{.check = "system",
                 .text = fmt::format("{}{} {} {}, glibc {}", distribution(), names.sysname, names.release,
                                     names.machine, ::gnu_get_libc_version())};
    if (const auto kernel = version_of(names.release); kernel && *kernel < oldest_kernel) {
        row.state = OwnState::fail;
        row.hint = fmt::format("Linux {}.{} or newer is needed", oldest_kernel[0], oldest_kernel[1]);
    }
    return row;
}

// What is at the path, or the nearest folder above it: what would be made there can be, or not.
fs::path nearest_folder(fs::path path) {
    std::error_code ignored;
    while (path.has_relative_path() && !fs::exists(path, ignored)) {
        path = path.parent_path();
    }
    return path;
}

// Empty: new files can be made there.
std::string why_not_writable(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) {
        return "no folder";
    }
    return ::access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

CheckRow home_row() {
    const auto home = client_environment("HOME").value_or("");
    CheckRow row{.check = "home",
                 .text = printable(home) + (home_was_said() ? "" : ": the account's, as HOME is not set")};
    std::error_code ignored;
    if (!fs::is_directory(home, ignored)) {
        row.state = OwnState::warn;
        row.text += ": no folder, or not accessible";
        row.hint =
            "docker's contexts, registries' logins and `~` in cluster.yaml are looked for there: set HOME";
    }
    return row;
}

CheckRow state_row() {
    const auto state = login_places(client_environment).state;
    CheckRow row{.check = "state", .text = printable(state.string())};
    const auto folder = nearest_folder(state);
    if (const auto why = why_not_writable(folder); !why.empty()) {
        row.state = OwnState::warn;
        row.text += fmt::format(": cannot write in {}: {}", printable(folder.string()), why);
        row.hint = "only `ssh-config` and `proxy` keep something there, a key: set XDG_STATE_HOME to a "
                   "folder that is yours, if you use them";
    }
    return row;
}

CheckRow temporary_row() {
    const auto place = temporary_place();
    CheckRow row{.check = "temporary", .text = printable(place)};
    struct statvfs room{};
    const auto why = why_not_writable(place);
    if (!why.empty() || ::statvfs(place.c_str(), &room) != 0) {
        row.state = OwnState::warn;
        row.text += ": cannot write there: " + (why.empty() ? std::strerror(errno) : why);
        row.hint = "images that are copied or built pass through it: set TMPDIR to a folder with room";
        return row;
    }
    const auto free = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    row.text += fmt::format(", {} free{}", format_size({free}),
                            (room.f_flag & ST_NOEXEC) != 0 ? ", noexec (nothing is run there)" : "");
    if (free < little_room) {
        row.state = OwnState::warn;
        row.hint = "images that are copied or built pass through it: set TMPDIR to a folder with more room";
    }
    return row;
}

CheckRow locale_row() {
    CheckRow row{.check = "locale"};
    for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        if (const auto value = client_environment(name); row.text.empty() && value && !value->empty()) {
            row.text = fmt::format("{}={}", name, printable(*value));
        }
    }
    row.text = row.text.empty() ? "none is set" : row.text;
    auto* const there = ::newlocale(LC_CTYPE_MASK, "", nullptr);
    if (there == nullptr) {
        row.state = OwnState::warn;
        row.text += ", which is not installed on this machine";
        row.hint = "dockdist does not need it; programs that it starts, such as ssh, may complain: "
                   "`locale -a` lists those installed, C.UTF-8 is everywhere";
    } else {
        ::freelocale(there);
    }
    return row;
}

CheckRow terminal_row() {
    const auto out = probe_output(STDOUT_FILENO);
    const auto term = client_environment("TERM").value_or("");
    return {.check = "terminal",
            .text = fmt::format("TERM={}, stdout is {}, {}, {}", printable(term),
                                out.columns > 0 ? fmt::format("{} columns wide", out.columns) : "no terminal",
                                out.colour ? "colours" : "no colours", out.unicode ? "UTF-8" : "ASCII")};
}

CheckRow limits_row() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    CheckRow row{.check = "limits", .text = fmt::format("{} open files", limit.rlim_cur)};
    if (limit.rlim_cur < few_files) {
        row.state = OwnState::warn;
        row.hint = "each host takes two or three: raise `ulimit -n` for clusters of many hosts";
    }
    return row;
}

} // namespace

std::vector<CheckRow> machine_rows() {
    return {system_row(), home_row(),     state_row(), temporary_row(),
            locale_row(), terminal_row(), limits_row()};
}

} // namespace dockdist
