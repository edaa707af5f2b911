// What the messages of one pull add up to: layers of which several are under way at once, first downloaded,
// then extracted. Of the extraction containerd's image store tells no bytes, and some versions nothing at
// all. Pure.
#pragma once

#include "client/container/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dockdist {

class PullTracker {
public:
    void apply(const PullProgress& message);

    std::string text() const; // "download, 2 of 7 layers", then "extract, 6 of 7 layers", or "extract"
    bool has_begun() const;   // something has come
    // Bytes; nothing while none are told.
    std::optional<std::uint64_t> current() const;
    // Bytes in all; only once the size of every layer that is to come is known, and with current().
    std::optional<std::uint64_t> total() const;

private:
    enum class Stage { waiting, downloading, downloaded, extracting, done };
    struct Layer {
        Stage stage = Stage::waiting;
        std::uint64_t downloaded = 0, extracted = 0;
        std::optional<std::uint64_t> size{};
    };
    bool all_downloaded() const;

    std::map<std::string, Layer> layers_{};
    bool tells_layers_ = false, tells_bytes_ = false; // that were extracted
};

} // namespace dockdist
