#include "node/system/nccl_library.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <climits>

#include <algorithm>
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace dockdist::node {
namespace {

constexpr const char* library = "libnccl.so.2";
constexpr const char* standard_folders[] = {"/usr/lib/x86_64-linux-gnu",
                                            "/usr/lib/aarch64-linux-gnu",
                                            "/usr/lib64",
                                            "/lib64",
                                            "/usr/lib",
                                            "/usr/local/lib",
                                            "/usr/local/cuda/lib64",
                                            "/opt/conda/lib"};

std::vector<std::string> folders(const Environment& environment) {
    std::vector<std::string> all;
    for (const auto& folder : split(environment.get("LD_LIBRARY_PATH").value_or(""), ':')) {
        if (folder.starts_with('/')) {
            all.push_back(folder);
        }
    }
    for (const auto* folder : standard_folders) {
        all.push_back(under_root(folder));
    }
    return all;
}

constexpr const char* python_homes[] = {"/usr/local", "/usr", "/opt/conda", "/opt/venv", "/venv"};

// Of every Python there: its folders of packages.
std::vector<std::string> package_folders(const Environment& environment) {
    std::vector<std::string> homes;
    for (const auto* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        if (const auto home = environment.get(name); home && home->starts_with('/')) {
            homes.push_back(*home);
        }
    }
    for (const auto* home : python_homes) {
        homes.push_back(under_root(home));
    }
    std::vector<std::string> all;
    for (const auto& home : homes) {
        for (const auto& name : list_folder(home + "/lib")) {
            if (name.starts_with("python3")) {
                all.push_back(home + "/lib/" + name + "/site-packages");
                all.push_back(home + "/lib/" + name + "/dist-packages");
            }
        }
    }
    return all;
}

bool is_version(std::string_view text) {
    return text.find('.') != std::string_view::npos &&
           text.find_first_not_of("0123456789.") == std::string_view::npos;
}

} // namespace

std::optional<std::string> version_in_name(std::string_view path) {
    constexpr std::string_view base = "libnccl.so.";
    const auto at = path.rfind(base);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const auto version = path.substr(at + base.size());
    return is_version(version) ? std::optional<std::string>(version) : std::nullopt;
}

std::optional<std::string> version_of_package(std::string_view folder) {
    constexpr std::string_view base = "nvidia_nccl_";
    constexpr std::string_view end = ".dist-info";
    const auto dash = folder.find('-');
    if (!folder.starts_with(base) || !folder.ends_with(end) || dash == std::string_view::npos) {
        return std::nullopt;
    }
    const auto version = folder.substr(dash + 1, folder.size() - end.size() - dash - 1);
    return is_version(version) ? std::optional<std::string>(version) : std::nullopt;
}

bool is_older(std::string_view one, std::string_view other) {
    const auto numbers = [](std::string_view version) {
        std::vector<int> all;
        for (const auto& part : split(version, '.')) {
            all.push_back(whole_number<int>(part).value_or(0));
        }
        return all;
    };
    return numbers(one) < numbers(other);
}

std::string oldest_nccl(const Environment& environment) {
    constexpr std::size_t longest = 32;
    std::string oldest;
    const auto take = [&](const std::string& version) {
        if (is_version(version) && version.size() <= longest &&
            (oldest.empty() || is_older(version, oldest))) {
            oldest = version;
        }
    };
    take(nccl_library(environment).version);
    for (const auto& folder : package_folders(environment)) {
        for (const auto& name : list_folder(folder)) {
            take(version_of_package(name).value_or(""));
        }
    }
    return oldest;
}

wire::NcclLibrary nccl_library(const Environment& environment) {
    for (const auto& folder : folders(environment)) {
        const auto path = folder + "/" + library;
        char real[PATH_MAX];
        if (::realpath(path.c_str(), static_cast<char*>(real)) != nullptr) {
            return {.version = version_in_name(static_cast<const char*>(real)).value_or("unknown"),
                    .path = printable(path)};
        }
    }
    return {};
}

} // namespace dockdist::node
