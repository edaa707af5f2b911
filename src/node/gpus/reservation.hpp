// A part's way to its units: shared/wire/job.hpp, "GPUs", the node's side.
#pragma once

#include "node/gpus/board_watch.hpp"
#include "node/gpus/held_units.hpp"
#include "node/gpus/unit_facts.hpp"
#include "node/system/loop.hpp"

#include <deque>
#include <functional>
#include <memory>

namespace dockdist::node {

class Reservation {
public:
    // All are called from the loop, and may destroy the reservation.
    struct Listener {
        // The first one answers begin(); each order is answered; and else whenever it is another.
        std::function<void(const wire::GpuTurn&)> on_turn{};
        std::function<void(const Error&)> on_error{}; // the end of it
    };
    Reservation(Loop& loop, GpuRequest request, Result<KnownGpus> at_join, Listener listener);
    ~Reservation(); // gives back what was not handed over, and leaves the line
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    // Takes at once where nobody waits and enough are free; with a number, gets into line with that; to look
    // only, says how it stands.
    void begin();
    // The client's orders; carried out one after another.
    void line(std::int64_t number, std::int64_t order);
    void take(std::int64_t order);
    void look(std::int64_t order); // gives back what was taken, leaves the line, and says how it stands
    // Takes, without any more orders, as soon as enough are free that nobody in line would have.
    void insist();

    const wire::GpuTurn& turn() const { return turn_; }
    HeldUnits hand_over(); // once the turn is `taken`

private:
    struct Order {
        enum class What { at_once, line, take, leave, look } what = What::look;
        std::int64_t number = 0; // line
        std::int64_t order = 0;  // line, take, leave
    };
    // What is to be done with the board while nobody else changes it; true: it is to be written.
    using Work = std::function<Result<bool>(Board&)>;

    void enqueue(Order order);
    void next();
    void obey(const Order& order);
    void get_in_line(std::int64_t number);
    void leave_line();
    void look();
    void judge_read(); // and is done
    BoardEntry own_or_ticket() const { return own_.id != 0 ? own_ : facts_.units().ticket(); }
    void judge(const Standing& standing);
    Result<bool> hold(Board& board);
    bool lock_some(const BoardEntry& own, const Board& board);
    Status have_entry(Board& board);
    void put_own(Board& board);
    void let_go();
    void after_facts(std::int64_t not_before_ms, std::function<void()> then);
    void on_board(const Work& work);
    // How long it is waited for: as long as it changes hands, up to a bound.
    struct Patience {
        std::int64_t until_ms = 0, at_most_ms = 0, released_at_ns = 0;
    };
    void try_on_board(const Work& work, Patience patience);
    void watch();
    void done(); // with an order
    void fail(const Error& error);

    Loop& loop_;
    GpuRequest request_;
    Listener listener_;
    UnitFacts facts_;
    BoardFile file_{};
    BoardEntry own_{}; // id 0: it has no entry
    ChosenUnits taken_{};
    wire::GpuTurn turn_{}, told_{};
    std::int64_t order_ = 0; // the last one that was obeyed
    std::unique_ptr<BoardWatch> watch_{};
    std::int64_t changed_at_ms_ = 0; // the board, or who uses what
    std::deque<Order> orders_{};
    bool busy_ = false;
    bool answering_ = false; // it tells although nothing is new
    bool insisting_ = false;
    bool failed_ = false;
    Loop::Timer mutex_ = 0, soon_ = 0, use_ = 0;
};

} // namespace dockdist::node
