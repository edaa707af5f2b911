// What is found out and taken before a job is started: its ports, the answers to its questions, its units.
#pragma once

#include "node/gpus/reservation.hpp"
#include "node/job/questions.hpp"
#include "node/job/supervisor.hpp"
#include "node/system/port_reservation.hpp"
#include "shared/wire/job.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace dockdist::node {

class JobPreparation {
public:
    // All are called from the loop.
    struct Listener {
        std::function<void(const wire::LaunchFacts&)> on_facts{}; // once, when all is known
        std::function<void(const wire::GpuTurn&)> on_turn{};      // after that
        std::function<void(const Error&)> on_error{};
    };
    JobPreparation(Loop& loop, const wire::JobOpening& opening, Listener listener);
    JobPreparation(const JobPreparation&) = delete;
    JobPreparation& operator=(const JobPreparation&) = delete;

    Status begin();
    // The client's orders for its GPUs (line, take, look); nothing where none were asked for.
    void obey(const wire::JobCommand& order);
    // Whether its units are its own, or it needs none. Where not, insist() takes them as soon as they are
    // free.
    bool may_start() const;
    void insist();

    // Hands all of it over.
    PreparedJob finish(wire::JobStart start);

private:
    void reserve(const Environment& recorded);
    void hear_turn(const wire::GpuTurn& turn);
    void tell_when_all_is_known();

    Loop& loop_;
    const wire::JobOpening& opening_;
    Listener listener_;
    Account account_{};
    JobPart part_{};
    std::vector<ReservedPort> ports_{};
    std::vector<ReservedPort> own_port_{}; // one; none where there is none
    std::unique_ptr<Questions> questions_{};
    std::optional<std::vector<wire::Answer>> answers_{};
    std::optional<std::string> users_gpus_{}; // what the user's variables show of them, if any does
    bool are_amd_s_ = false;
    std::unique_ptr<Reservation> reservation_{};
    bool turn_known_ = false;
    bool told_ = false;
};

} // namespace dockdist::node
