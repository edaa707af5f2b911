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

    // The batch system has warned that it ends everything soon: an interrupt with another reason.
    void end_of_time() {
        time_is_over_ = true;
        interrupt();
    }
    bool time_is_over() const { return time_is_over_; }

    // The terminal is gone: an interrupt, unless the command has chosen otherwise.
    void hang_up() { lets_go_on_hangup_ ? let_go() : interrupt(); }
    void let_go_on_hangup() { lets_go_on_hangup_ = true; }
    // Leave what runs to itself.
    void let_go() {
        wants_to_let_go_ = true;
        if (handler_) {
            handler_();
        }
    }
    bool wants_to_let_go() const { return wants_to_let_go_; }

    // Called after each interrupt from now on. Returns the handler before it, for whoever puts it back.
    std::function<void()> handle_with(std::function<void()> handler) {
        return std::exchange(handler_, std::move(handler));
    }

private:
    int count_ = 0;
    bool time_is_over_ = false;
    bool wants_to_let_go_ = false;
    bool lets_go_on_hangup_ = false;
    std::function<void()> handler_{};
};

} // namespace dockdist
