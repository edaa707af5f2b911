#include "node/check/nccl_library.hpp"

#include "core/text.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"

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

std::vector<std::string> folders() {
    std::vector<std::string> all;
    for (const auto& folder : split(Environment::own().get("LD_LIBRARY_PATH").value_or(""), ':')) {
        if (folder.starts_with('/')) {
            all.push_back(folder);
        }
    }
    for (const auto* folder : standard_folders) {
        all.push_back(under_root(folder));
    }
    return all;
}

} // namespace

std::optional<std::string> version_in_name(std::string_view path) {
    constexpr std::string_view base = "libnccl.so.";
    const auto at = path.rfind(base);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const auto version = path.substr(at + base.size());
    const bool whole = version.find('.') != std::string_view::npos &&
                       version.find_first_not_of("0123456789.") == std::string_view::npos;
    return whole ? std::optional<std::string>(version) : std::nullopt;
}

wire::NcclLibrary nccl_library() {
    for (const auto& folder : folders()) {
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
