// Cuts one stream of bytes, sliced anyhow, into the lines that people should see. What comes out does not
// depend on the slicing. Memory is bounded by two lines of `limit` bytes.
#pragma once

#include "client/report/display_text.hpp"
#include "shared/core/utf8.hpp"

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

struct LinePart {
    std::string_view text{};
    bool continued = false; // it goes on from the part before: the line was longer than the limit
    bool plain = false;     // known to be is_plain_ascii()
};

class LineSplitter {
public:
    // A longer line comes out in parts, never cut inside a character.
    static constexpr std::size_t limit = std::size_t{64} * 1024;

    // Calls on_line(LinePart) for every line that has ended. Of a line that overwrote itself with '\r'
    // (progress bars) only the last state that is not empty comes out; so "\r\n" is a line's end like "\n".
    template <class OnLine>
    void feed(std::string_view bytes, OnLine&& on_line);

    // The stream has ended: what is left is a line.
    template <class OnLine>
    void end(OnLine&& on_line) {
        if (!pending_.empty() || !previous_.empty()) {
            end_line(on_line);
        }
    }

    // The present state of a line that overwrites itself and has not ended.
    std::optional<std::string_view> live() const {
        if (!overwrites_ || (pending_.empty() && previous_.empty())) {
            return std::nullopt;
        }
        return pending_.empty() ? previous_ : pending_;
    }

private:
    bool idle() const { return pending_.empty() && !overwrites_ && !continued_; }

    template <class OnLine>
    void absorb(std::string_view text, OnLine& on_line);
    template <class OnLine>
    void append(std::string_view text, OnLine& on_line);
    template <class OnLine>
    void end_line(OnLine& on_line);

    std::string pending_{};  // since the line's start, its last '\r', or the part before
    std::string previous_{}; // what the last '\r' will overwrite
    bool overwrites_ = false;
    bool continued_ = false;
};

template <class OnLine>
void LineSplitter::feed(std::string_view bytes, OnLine&& on_line) {
    const bool all_plain = is_plain_ascii(bytes);
    while (!bytes.empty()) {
        const auto* newline = static_cast<const char*>(std::memchr(bytes.data(), '\n', bytes.size()));
        if (newline == nullptr) {
            break;
        }
        const auto line = bytes.substr(0, static_cast<std::size_t>(newline - bytes.data()));
        if (idle() && line.size() <= limit && (all_plain || line.find('\r') == std::string_view::npos)) {
            on_line(LinePart{.text = line, .plain = all_plain || is_plain_ascii(line)});
        } else {
            absorb(line, on_line);
            end_line(on_line);
        }
        bytes.remove_prefix(line.size() + 1);
    }
    absorb(bytes, on_line);
}

template <class OnLine>
void LineSplitter::absorb(std::string_view text, OnLine& on_line) {
    while (true) {
        const auto end = text.find('\r');
        append(text.substr(0, end), on_line);
        if (end == std::string_view::npos) {
            return;
        }
        overwrites_ = true;
        if (!pending_.empty()) {
            std::swap(previous_, pending_);
            pending_.clear();
        }
        text.remove_prefix(end + 1);
    }
}

template <class OnLine>
void LineSplitter::append(std::string_view text, OnLine& on_line) {
    while (!text.empty()) {
        const auto taken = text.substr(0, limit + 1 - pending_.size());
        pending_ += taken;
        text.remove_prefix(taken.size());
        if (pending_.size() > limit) {
            const auto cut = utf8_prefix(pending_, limit);
            on_line(LinePart{.text = std::string_view(pending_).substr(0, cut), .continued = continued_});
            pending_.erase(0, cut);
            previous_.clear();
            continued_ = true;
        }
    }
}

template <class OnLine>
void LineSplitter::end_line(OnLine& on_line) {
    on_line(LinePart{.text = pending_.empty() ? previous_ : pending_, .continued = continued_});
    pending_.clear();
    previous_.clear();
    overwrites_ = false;
    continued_ = false;
}

} // namespace dockdist
