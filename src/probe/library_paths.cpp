#include "probe/library_paths.hpp"

#include "shared/core/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <span>
#include <string_view>

namespace dockdist::probe {
namespace {

constexpr std::string_view system_folders[] = {
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/lib",
    "/usr/local/cuda/compat",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
};

void add(std::vector<std::string>& paths, std::string path) {
    if (std::ranges::find(paths, path) == paths.end()) {
        paths.push_back(std::move(path));
    }
}

void add_library_path(std::vector<std::string>& paths, const SearchSettings& settings,
                      const std::string& name) {
    for (const auto& folder : split(settings.library_path, ':')) {
        if (folder.starts_with('/')) {
            add(paths, folder + "/" + name);
        }
    }
}

void add_system(std::vector<std::string>& paths, const std::string& name) {
    add(paths, name);
    for (const auto folder : system_folders) {
        add(paths, std::string(folder) + "/" + name);
    }
}

// The folders of which lib/python3.X holds site-packages, in the order in which a training command meets
// them.
std::vector<std::string> python_prefixes(const SearchSettings& settings) {
    std::vector<std::string> prefixes;
    const auto add_prefix = [&](const std::string& prefix) {
        if (prefix.starts_with('/')) {
            add(prefixes, prefix);
        }
    };
    add_prefix(settings.virtual_env);
    for (const auto& folder : split(settings.path, ':')) {
        if (folder.ends_with("/bin")) {
            add_prefix(folder.substr(0, folder.size() - 4));
        }
    }
    add_prefix(settings.conda_prefix);
    if (!settings.home.empty()) {
        add_prefix(settings.home + "/.local");
    }
    for (const auto* prefix : {"/opt/conda", "/usr/local", "/usr"}) {
        add_prefix(prefix);
    }
    return prefixes;
}

// `in`: the folder in site-packages, and the name there.
void add_wheels(std::vector<std::string>& paths, const SearchSettings& settings, const ListFolder& list,
                const std::string& in) {
    for (const auto& prefix : python_prefixes(settings)) {
        for (const auto* library : {"/lib", "/lib64"}) {
            auto pythons = list(prefix + library);
            std::erase_if(pythons, [](const std::string& entry) { return !entry.starts_with("python3"); });
            std::ranges::sort(pythons);
            for (const auto& python : pythons) {
                for (const auto* packages : {"/site-packages", "/dist-packages"}) {
                    add(paths, prefix + library + "/" + python + packages + "/" + in);
                }
            }
        }
    }
}

// By the version of their ABI, the newest first; PyTorch's have none.
constexpr std::string_view hip_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                          "libamdhip64.so"};
constexpr std::string_view rccl_names[] = {"librccl.so.1", "librccl.so"};

std::vector<std::string> rocm_paths(const SearchSettings& settings, const ListFolder& list,
                                    std::span<const std::string_view> names) {
    std::vector<std::string> paths;
    for (const auto name : names) {
        add_library_path(paths, settings, std::string(name));
    }
    for (const auto name : names) {
        add_wheels(paths, settings, list, "torch/lib/" + std::string(name));
    }
    for (const auto name : names) {
        add(paths, "/opt/rocm/lib/" + std::string(name));
    }
    for (const auto name : names) {
        add_system(paths, std::string(name));
    }
    return paths;
}

std::string variable(const char* name) {
    const auto* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

} // namespace

SearchSettings own_search_settings() {
    return {.library_path = variable("LD_LIBRARY_PATH"),
            .path = variable("PATH"),
            .virtual_env = variable("VIRTUAL_ENV"),
            .conda_prefix = variable("CONDA_PREFIX"),
            .home = variable("HOME")};
}

std::vector<std::string> list_folder(const std::string& folder) {
    std::vector<std::string> names;
    if (auto* opened = opendir(folder.c_str())) {
        while (const auto* entry = readdir(opened)) {
            names.emplace_back(entry->d_name);
        }
        closedir(opened);
    }
    return names;
}

std::vector<std::string> cuda_paths(const SearchSettings& settings) {
    std::vector<std::string> paths;
    add_library_path(paths, settings, "libcuda.so.1");
    add_system(paths, "libcuda.so.1");
    return paths;
}

std::vector<std::string> nccl_paths(const SearchSettings& settings, const ListFolder& list) {
    std::vector<std::string> paths;
    add_library_path(paths, settings, "libnccl.so.2");
    add_wheels(paths, settings, list, "nvidia/nccl/lib/libnccl.so.2");
    add_system(paths, "libnccl.so.2");
    return paths;
}

std::vector<std::string> hip_paths(const SearchSettings& settings, const ListFolder& list) {
    return rocm_paths(settings, list, hip_names);
}

std::vector<std::string> rccl_paths(const SearchSettings& settings, const ListFolder& list) {
    return rocm_paths(settings, list, rccl_names);
}

} // namespace dockdist::probe
