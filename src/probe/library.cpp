#include "probe/library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace dockdist::probe {
namespace {

std::string path_of(void* handle, const std::string& asked) {
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr &&
        map->l_name[0] != '\0') {
        return map->l_name;
    }
    return asked;
}

} // namespace

Result<Library> Library::open(std::string_view name, const std::vector<std::string>& paths) {
    std::string failures; // of files that are there: one that is not needs no words
    for (const auto& path : paths) {
        const bool named = path.find('/') != std::string::npos;
        if (named && access(path.c_str(), F_OK) != 0) {
            continue;
        }
        if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            return Library(handle, path_of(handle, path));
        }
        const auto* reason = dlerror();
        const std::string words = reason == nullptr ? "it does not open" : reason;
        if (named) {
            failures += (failures.empty() ? "" : "; ") + words;
        }
    }
    const std::string library(name);
    if (!failures.empty()) {
        return Error{.kind = ErrorKind::not_found,
                     .message = library + " does not open: " + failures,
                     .hint = "is it whole, and of this machine's architecture?"};
    }
    const auto where = std::to_string(paths.size()) + (paths.size() == 1 ? " place" : " places");
    const auto first = paths.empty() ? std::string() : ", the first of them " + paths.front();
    return Error{.kind = ErrorKind::not_found,
                 .message = "there is no " + library + " (looked in " + where + first + ")",
                 .hint = library.starts_with("libcuda")
                             ? "it is the driver's, and the container has it where it was given GPUs: does "
                               "nvidia-smi work in it?"
                             : "the image has no NCCL: install PyTorch or the package libnccl2, or name the "
                               "file with --libnccl"};
}

void* Library::address(const char* name) const {
    return dlsym(handle_, name);
}

} // namespace dockdist::probe
