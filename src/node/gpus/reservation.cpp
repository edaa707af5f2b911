#include "node/gpus/reservation.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist::node {
namespace {

using State = wire::GpuTurn::State;

constexpr std::int64_t mutex_limit_ms = 5000;  // while one and the same has it
constexpr std::int64_t crowd_limit_ms = 60000; // while it goes from one to the next
constexpr std::int64_t mutex_pause_ms = 3;
constexpr std::int64_t leave_within_ms = 50;
constexpr std::int64_t fresh_ms = 2000;   // as old as facts may be when units are taken by them
constexpr std::int64_t outside_ms = 3000; // between looks whether a process outside has ended
constexpr std::int64_t pause_in_front_ms = 20;
constexpr std::int64_t pause_behind_ms = 250;

wire::GpuTurn without_ages(wire::GpuTurn turn) {
    for (auto& hold : turn.held) {
        hold.by.age_s = hold.by.left_s = 0;
    }
    for (auto& waiter : turn.ahead) {
        waiter.who.age_s = 0;
    }
    return turn;
}

Error busy_board() {
    return Error{.kind = ErrorKind::node,
                 .message = "another node of this host has kept the board of its GPUs locked for 5 s",
                 .hint = "run it again; where that does not help, a node of another cluster on this host "
                         "hangs or does it on purpose: `--share` runs without the board"};
}

} // namespace

Reservation::Reservation(Loop& loop, GpuRequest request, Result<KnownGpus> at_join, Listener listener)
    : loop_(loop), request_(std::move(request)), listener_(std::move(listener)),
      facts_(loop, request_, std::move(at_join)) {
    turn_.looks = request_.ask.look;
}

Reservation::~Reservation() {
    for (const auto timer : {mutex_, soon_, use_}) {
        loop_.cancel(timer);
    }
    if (own_.id != 0) {
        remove_entry(file_, own_.id, leave_within_ms);
    }
}

void Reservation::begin() {
    enqueue(request_.ask.number > 0 ? Order{.what = Order::What::line, .number = request_.ask.number}
            : request_.ask.look     ? Order{.what = Order::What::leave}
                                    : Order{.what = Order::What::at_once});
}

void Reservation::line(std::int64_t number, std::int64_t order) {
    enqueue({.what = Order::What::line, .number = number, .order = order});
}

void Reservation::take(std::int64_t order) {
    enqueue({.what = Order::What::take, .order = order});
}

void Reservation::look(std::int64_t order) {
    enqueue({.what = Order::What::leave, .order = order});
}

void Reservation::insist() {
    if (!insisting_) {
        insisting_ = true;
        watch();
        enqueue({.what = Order::What::at_once});
    }
}

HeldUnits Reservation::hand_over() {
    watch_.reset();
    return {std::move(file_), std::exchange(own_, {}).id, taken_.units};
}

void Reservation::enqueue(Order order) {
    orders_.push_back(order);
    if (!busy_) {
        loop_.cancel(soon_);
        soon_ = loop_.after(0, [this] { next(); });
    }
}

void Reservation::next() {
    if (!busy_ && !failed_ && !orders_.empty()) {
        busy_ = true;
        const auto order = orders_.front();
        orders_.pop_front();
        obey(order);
    }
}

void Reservation::obey(const Order& order) {
    using What = Order::What;
    answering_ = order.what != What::look;
    order_ = order.order > 0 ? order.order : order_;
    if (!facts_.any_wanted()) {
        return done();
    }
    if (!file_.is_open()) {
        auto file = BoardFile::open();
        if (!file) {
            return fail(file.error());
        }
        file_ = std::move(*file);
    }
    const auto hold_some = [this] { on_board([this](Board& board) { return hold(board); }); };
    const auto fresh = loop_.now_ms() - fresh_ms;
    switch (order.what) {
    case What::look:
        return look();
    case What::at_once:
        return after_facts(fresh, hold_some);
    case What::line:
        return after_facts(0, [this, number = order.number] { get_in_line(number); });
    case What::leave:
        return after_facts(fresh, [this] { leave_line(); });
    case What::take:
        // One that came twice, or before its ticket was final, is answered by how it stands.
        return own_.units.empty() && (own_.is_final || (own_.id == 0 && request_.ask.look))
                   ? after_facts(std::max(fresh, changed_at_ms_), hold_some)
                   : done();
    }
}

void Reservation::get_in_line(std::int64_t number) {
    on_board([this, number](Board& board) -> Result<bool> {
        let_go();
        TRY(have_entry(board));
        own_.is_final = number > 0;
        own_.number = std::min(number > 0 ? number : board.last_number + 1, max_board_number);
        board.last_number = std::max(board.last_number, own_.number);
        put_own(board);
        const auto standing = facts_.units().stand(board, own_, file_);
        if (own_.is_final && !standing.own_rivals.empty()) {
            return facts_.units().too_many_on_one_host(standing.own_rivals);
        }
        watch();
        judge(standing);
        return true;
    });
}

void Reservation::leave_line() {
    watch();
    if (own_.id == 0) {
        return judge_read();
    }
    on_board([this](Board& board) -> Result<bool> {
        let_go();
        std::erase_if(board.entries, [&](const BoardEntry& entry) { return entry.id == own_.id; });
        file_.unlock_entry();
        own_ = {};
        judge(facts_.units().stand(board, own_or_ticket(), file_));
        return true;
    });
}

// What the board says is read without the mutex: it is replaced as a whole.
void Reservation::look() {
    if (insisting_) {
        return after_facts(changed_at_ms_,
                           [this] { on_board([this](Board& board) { return hold(board); }); });
    }
    if ((own_.id == 0 && !request_.ask.look) || !own_.units.empty()) {
        return done();
    }
    const auto board = file_.read();
    if (!board) {
        return fail(board.error());
    }
    if (own_.id != 0 && std::ranges::find(board->entries, own_.id, &BoardEntry::id) == board->entries.end()) {
        return on_board([this](Board& lost) -> Result<bool> { // somebody has lost the board
            put_own(lost);
            judge(facts_.units().stand(lost, own_, file_));
            return true;
        });
    }
    const auto standing = facts_.units().stand(*board, own_or_ticket(), file_);
    if (!standing.fits_but_for_outside) {
        judge(standing);
        return done();
    }
    // Since the GPUs were last asked, somebody outside may have come or gone.
    after_facts(changed_at_ms_, [this] { judge_read(); });
}

void Reservation::judge_read() {
    const auto board = file_.read();
    if (!board) {
        return fail(board.error());
    }
    judge(facts_.units().stand(*board, own_or_ticket(), file_));
    done();
}

void Reservation::judge(const Standing& standing) {
    const bool looks = request_.ask.look && own_.id == 0;
    turn_.state = standing.fits && (own_.is_final || looks) ? State::fits : State::waits;
    turn_.number = own_.number;
    if (request_.ask.look) {
        turn_.could = own_or_ticket().candidates;
        turn_.free.clear();
        std::ranges::transform(standing.free, std::back_inserter(turn_.free), &wire::GpuUnit::id);
    }
    turn_.units.clear();
    turn_.together.clear();
    turn_.place = standing.place;
    turn_.held = standing.held;
    turn_.ahead = standing.ahead;
    if (watch_) {
        watch_->set_pause(standing.place <= 2 ? pause_in_front_ms : pause_behind_ms);
    }
    loop_.cancel(use_);
    if (watch_ && standing.fits_but_for_outside && !standing.fits) {
        use_ = loop_.after(outside_ms, [this] {
            changed_at_ms_ = loop_.now_ms();
            enqueue({});
        });
    }
}

// True: the units are its own, and the board says so.
Result<bool> Reservation::hold(Board& board) {
    auto own = own_;
    if (own.id == 0) {
        own = facts_.units().ticket();
    }
    // Each time that somebody has locked a unit meanwhile, there is one less to try.
    for (int i = 0; taken_.units.empty() && i <= facts_.units().wanted(); ++i) {
        if (!lock_some(own, board)) {
            return false;
        }
    }
    if (taken_.units.empty()) {
        return false;
    }
    own_ = own;
    TRY(have_entry(board));
    own_.units = taken_.units;
    own_.since_ms = unix_ms();
    own_.until_ms = request_.timeout_ms > 0 ? own_.since_ms + request_.timeout_ms : 0;
    put_own(board);
    insisting_ = false;
    watch_.reset();
    loop_.cancel(use_);
    turn_.state = State::taken;
    turn_.number = own_.number;
    turn_.units = taken_.units;
    turn_.together = taken_.together;
    turn_.place = 0;
    turn_.held.clear();
    turn_.ahead.clear();
    return true;
}

// False: it does not fit. Else what it has locked is in taken_, and nothing where somebody was quicker, whom
// the board does not know.
bool Reservation::lock_some(const BoardEntry& own, const Board& board) {
    const auto standing = facts_.units().stand(board, own, file_);
    judge(standing);
    if (!standing.fits) {
        return false;
    }
    taken_ = facts_.units().choose(standing);
    const auto refused = std::ranges::find_if(
        taken_.units, [&](const wire::GpuUnit& unit) { return !file_.lock_unit(unit.id); });
    if (refused != taken_.units.end()) {
        std::for_each(taken_.units.begin(), refused,
                      [&](const wire::GpuUnit& unit) { file_.unlock_unit(unit.id); });
        taken_ = {};
    }
    return true;
}

Status Reservation::have_entry(Board& board) {
    if (own_.id == 0) {
        auto id = file_.make_entry(board);
        TRY(id);
        own_.id = *id;
        own_.since_ms = unix_ms();
    }
    return ok;
}

void Reservation::put_own(Board& board) {
    std::erase_if(board.entries, [&](const BoardEntry& entry) { return entry.id == own_.id; });
    board.entries.push_back(own_);
}

// Of what was taken; what it has is a ticket from now on, for what is sound now.
void Reservation::let_go() {
    for (const auto& unit : taken_.units) {
        file_.unlock_unit(unit.id);
    }
    auto ticket = facts_.units().ticket();
    ticket.id = own_.id;
    ticket.since_ms = taken_.units.empty() ? own_.since_ms : unix_ms();
    own_ = std::move(ticket);
    taken_ = {};
}

void Reservation::after_facts(std::int64_t not_before_ms, std::function<void()> then) {
    facts_.refresh(not_before_ms, file_, [this, then = std::move(then)](const Status& enough) {
        turn_.wanted = facts_.units().wanted();
        turn_.left_out = facts_.units().left_out();
        if (!enough) {
            fail(enough.error());
        } else if (facts_.any_wanted()) {
            then();
        } else {
            done();
        }
    });
}

void Reservation::on_board(const Work& work) {
    const auto now = loop_.now_ms();
    try_on_board(work, {.until_ms = now + mutex_limit_ms,
                        .at_most_ms = now + crowd_limit_ms,
                        .released_at_ns = file_.released_at_ns()});
}

void Reservation::try_on_board(const Work& work, Patience patience) {
    if (!file_.try_mutex()) {
        const auto now = loop_.now_ms();
        if (const auto released = file_.released_at_ns(); released != patience.released_at_ns) {
            patience = {std::min(now + mutex_limit_ms, patience.at_most_ms), patience.at_most_ms, released};
        }
        if (now >= patience.until_ms) {
            return fail(busy_board());
        }
        mutex_ = loop_.after(mutex_pause_ms, [this, work, patience] { try_on_board(work, patience); });
        return;
    }
    auto status = file_.check();
    if (status) {
        auto board = file_.read();
        const auto changed = board ? work(*board) : Result<bool>(board.error());
        status = !changed ? Status(changed.error()) : *changed ? file_.write(*board) : Status(ok);
    }
    file_.release_mutex();
    return status ? done() : fail(status.error());
}

void Reservation::watch() {
    if (!watch_) {
        watch_ = std::make_unique<BoardWatch>(loop_, [this] {
            changed_at_ms_ = loop_.now_ms();
            if (orders_.empty() || orders_.back().what != Order::What::look) {
                enqueue({});
            }
        });
    }
}

void Reservation::done() {
    busy_ = false;
    turn_.order = order_;
    if (!orders_.empty()) {
        loop_.cancel(soon_);
        soon_ = loop_.after(0, [this] { next(); });
    }
    auto told = without_ages(turn_);
    if (std::exchange(answering_, false) || told != told_) {
        told_ = std::move(told);
        const auto on_turn = listener_.on_turn;
        const auto turn = turn_;
        on_turn(turn);
    }
}

void Reservation::fail(const Error& error) {
    if (!std::exchange(failed_, true)) {
        const auto on_error = listener_.on_error;
        on_error(error);
    }
}

} // namespace dockdist::node
