// The files of an image's tar while they are taken out of it on another thread: one side writes, the other
// reads what is there already. Safe to use from two threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace dockdist {

class GrowingFiles {
public:
    void begin(const std::filesystem::path& path);
    void grow(std::uint64_t bytes); // of the latest

    struct Place {
        std::size_t file = 0; // 0 is the first one of the tar
        std::uint64_t offset = 0;
    };
    // What stands at `at`, in the next file that has something where this one ended; at most `limit` bytes,
    // and moves `at` behind them. "": nothing more is there yet.
    std::string next(Place& at, std::size_t limit) const;

private:
    struct File {
        std::filesystem::path path{};
        std::uint64_t size = 0;
    };
    mutable std::mutex mutex_{};
    std::vector<File> files_{};
};

} // namespace dockdist
