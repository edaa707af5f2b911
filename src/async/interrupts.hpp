// Ctrl-C and its kin, counted, and told to whoever is in charge: the program cancels the running command,
// unless the command has something better to do.
#pragma once

#include <functional>
#include <utility>

namespace dockdist {

class Interrupts {
public:
    int count() const { return count_; }

    void interrupt() {
        ++count_;
        if (handler_) {
            handler_();
        }
    }

    // Called after each interrupt from now on. Returns the handler before it, for whoever puts it back.
    std::function<void()> handle_with(std::function<void()> handler) {
        return std::exchange(handler_, std::move(handler));
    }

private:
    int count_ = 0;
    std::function<void()> handler_{};
};

} // namespace dockdist
