// A sink that can be told to keep still: while a question stands on the terminal, nothing may be drawn over
// it.
#pragma once

#include "client/report/output.hpp"

#include <utility>
#include <vector>

namespace dockdist {

class HeldSink : public OutputSink {
public:
    // `behind` outlives it.
    explicit HeldSink(OutputSink& behind) : behind_(behind) {}

    void write(int fd, const Displayable& text) override {
        if (held_) {
            waiting_.emplace_back(fd, text.kept());
        } else {
            behind_.write(fd, text);
        }
    }

    // From now on what is written waits; or goes on, in its order, with what has waited.
    void hold(bool on) {
        held_ = on;
        if (!held_) {
            for (const auto& [fd, text] : std::exchange(waiting_, {})) {
                behind_.write(fd, text);
            }
        }
    }

private:
    OutputSink& behind_;
    bool held_ = false;
    std::vector<std::pair<int, Displayable>> waiting_{};
};

} // namespace dockdist
