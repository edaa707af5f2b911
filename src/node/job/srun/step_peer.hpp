// srun's way to one node: an ssh with `dockdist-init step` at its other end.
#pragma once

#include "node/job/srun/step_messages.hpp"
#include "node/system/loop.hpp"
#include "shared/wire/frame.hpp"

#include <functional>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

class StepPeer {
public:
    // All are called from the loop.
    struct Listener {
        std::function<void(const StepMessage&)> on_message{};
        std::function<void(const wire::Frame&)> on_output{};
        std::function<void(const std::string& why)> on_closed{}; // once, the last of all
    };
    // on_closed tells, too, where it cannot be started.
    StepPeer(Loop& loop, const std::string& node, Listener listener);
    ~StepPeer(); // closes it: whatever runs there ends
    StepPeer(const StepPeer&) = delete;
    StepPeer& operator=(const StepPeer&) = delete;

    void send(std::string_view bytes); // keeps what ssh does not take yet
    std::size_t waiting() const { return waiting_.size(); }
    std::function<void()> on_sent{}; // less is waiting than before

private:
    bool start(const std::string& node);
    void write();
    void read();
    void read_complaint();
    void close(std::string why);

    Loop& loop_;
    Listener listener_;
    wire::FrameDecoder decoder_{};
    Fd to_ssh_{}, from_ssh_{}, complaints_{};
    std::string waiting_{};
    std::string complaint_{}; // the end of what ssh says
    pid_t ssh_ = 0;
    bool closed_ = false;
};

} // namespace dockdist::node
