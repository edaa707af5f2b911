// The sender's side of moby.filesync.v1.FileSync/DiffCopy (github.com/tonistiigi/fsutil, send.go,
// wire.proto): tells an engine what is in a folder, and sends the files that it asks for then. Pure but for
// reading the files.
#pragma once

#include "client/container/build_files.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class FolderSender {
public:
    // `only`: the paths that the engine is content with, and what is below them; empty: all. They may bring
    // more than that, where a pattern or a link is among them.
    FolderSender(std::shared_ptr<BuildFiles> files, const std::vector<std::string>& only);

    // A message of the engine. Errors: protocol; engine, where it tells one of its own.
    Status take(std::string_view message);
    // The next message to the engine, or none for now. An error of reading a file is told to the engine as
    // well: by the message after.
    Result<std::optional<std::string>> next();
    bool has_all() const { return engine_done_; } // the engine has said so
    bool ended() const { return ended_; } // both sides have said that it is done, and next() has nothing more
    std::uint64_t sent() const { return sent_; } // bytes of files

private:
    static constexpr std::size_t piece = 32U << 10U; // as fsutil sends

    std::shared_ptr<BuildFiles> files_;
    std::vector<std::size_t> chosen_{}; // of their list; the engine counts by these
    std::vector<bool> asked_{};
    std::size_t told_ = 0; // so many of `chosen_`; one more with the end of the list
    std::deque<std::uint32_t> wanted_{};
    std::uint64_t offset_ = 0; // in the first of these
    std::uint64_t sent_ = 0;
    bool engine_done_ = false, ended_ = false;
};

} // namespace dockdist
