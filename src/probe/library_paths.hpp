// Where libcuda.so.1 and libnccl.so.2 are looked for. Pure, but for the listing of folders, which the caller
// brings.
//
//   libcuda.so.1   1. every folder of LD_LIBRARY_PATH
//                  2. the loader's own search: /etc/ld.so.cache and its default folders
//                  3. the folders where NVIDIA's container toolkit, WSL and CUDA put it
//   libnccl.so.2   1. every folder of LD_LIBRARY_PATH
//                  2. PyTorch's: nvidia/nccl/lib in the site-packages of $VIRTUAL_ENV, of $CONDA_PREFIX, of
//                  every python
//                     in PATH, of ~/.local, /opt/conda, /usr/local and /usr, as training takes it from there
//                  3. the loader's own search
//                  4. CUDA's and the system's folders
//   libamdhip64.so, librccl.so.1, where there is no libcuda: LD_LIBRARY_PATH, torch/lib in site-packages as
//   above
//                  (whose RCCL needs the libamdhip64 beside it), /opt/rocm, the loader, the system's folders
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dockdist::probe {

struct SearchSettings {
    std::string library_path{}; // LD_LIBRARY_PATH
    std::string path{};         // PATH
    std::string virtual_env{};  // VIRTUAL_ENV
    std::string conda_prefix{}; // CONDA_PREFIX
    std::string home{};         // HOME
};
SearchSettings own_search_settings();

// The names in a folder; empty where there is none.
using ListFolder = std::function<std::vector<std::string>(const std::string& folder)>;
std::vector<std::string> list_folder(const std::string& folder);

// What to hand to dlopen, one after the other. A bare name is the loader's own search.
std::vector<std::string> cuda_paths(const SearchSettings& settings);
std::vector<std::string> nccl_paths(const SearchSettings& settings, const ListFolder& list);
std::vector<std::string> hip_paths(const SearchSettings& settings, const ListFolder& list);
std::vector<std::string> rccl_paths(const SearchSettings& settings, const ListFolder& list);

} // namespace dockdist::probe
