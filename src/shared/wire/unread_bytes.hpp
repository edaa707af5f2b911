// Bytes of a stream that a decoder has been fed and has not taken yet.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dockdist::wire {

// Taking costs nothing; what was taken goes when more is fed, once it is the larger part.
class UnreadBytes {
public:
    void feed(std::string_view bytes) {
        if (begin_ == buffer_.size()) {
            buffer_.clear();
            begin_ = 0;
        } else if (begin_ > buffer_.size() / 2) {
            buffer_.erase(0, begin_);
            begin_ = 0;
        }
        buffer_.append(bytes);
    }
    std::string_view view() const { return std::string_view(buffer_).substr(begin_); } // until more is fed
    void take(std::size_t count) { begin_ += count; }                                  // of view()

private:
    std::string buffer_{};
    std::size_t begin_ = 0;
};

} // namespace dockdist::wire
