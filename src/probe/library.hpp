// A shared library that is opened at run time, and the functions in it.
#pragma once

#include "shared/core/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::probe {

// Stays open until the process ends: CUDA and NCCL leave threads behind that may not lose their code.
class Library {
public:
    // The first of `paths` that is there and opens. ErrorKind::not_found tells what each one said.
    static Result<Library> open(std::string_view name, const std::vector<std::string>& paths);

    // Puts the function of that name into `function`; nullptr where the library has none.
    template <class Function>
    void find(Function*& function, const char* name) const {
        function = reinterpret_cast<Function*>(address(name));
    }
    // The same, and notes a missing one.
    template <class Function>
    void need(Function*& function, const char* name, std::vector<std::string>& missing) const {
        find(function, name);
        if (function == nullptr) {
            missing.emplace_back(name);
        }
    }
    const std::string& path() const { return path_; } // of the file that was opened

private:
    Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
    void* address(const char* name) const;

    void* handle_;
    std::string path_;
};

} // namespace dockdist::probe
