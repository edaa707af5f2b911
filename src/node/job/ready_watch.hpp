// Asks a job's service, on its own node, whether it answers: JobPolicy::ready.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/ready_probe.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

class ReadyWatch {
public:
    explicit ReadyWatch(Loop& loop) : loop_(loop) {}
    ~ReadyWatch() { end(); }
    ReadyWatch(const ReadyWatch&) = delete;
    ReadyWatch& operator=(const ReadyWatch&) = delete;

    std::function<void(const std::string& address)> on_ready{}; // once, and then nothing is asked any more
    std::function<void(const std::string& line)> on_note{}; // why it is not yet, where that is worth a line

    // Of an attempt. On loopback, and on the node's own address in turn: a
    // service may listen on either.
    void begin(wire::ReadyProbe probe, std::string own_address);
    void end();

private:
    void ask();
    void ask_again();
    void happened(short events);
    void hear();
    void answered(int status);

    Loop& loop_;
    wire::ReadyProbe probe_{};
    std::string own_address_{};
    std::vector<std::string> places_{};
    std::size_t next_place_ = 0;
    Fd socket_{};
    std::string heard_{};
    Loop::Timer timer_ = 0;
    int told_status_ = 0;
    bool connected_ = false;
};

// What this part has to ask, where it is the one that asks.
std::optional<wire::ReadyProbe> asked_service(const wire::JobStart& start);

// Of this node's record; loopback where it has not joined.
std::string own_address();

} // namespace dockdist::node
