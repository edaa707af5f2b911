#include "client/async/shared_run.hpp"
#include "fakes/cancellable.hpp"

#include <doctest/doctest.h>

namespace shared_run_test {

using namespace dockdist;

namespace {

struct Work {
    boost::asio::io_context io{};
    SharedRun<int> shared{io.get_executor()};
    AsyncEvent gate{io.get_executor()};
    int runs = 0;

    static Task<int> run(Work& work) {
        const int number = ++work.runs;
        co_await work.gate.wait();
        co_return number;
    }
    Task<int> join() {
        return shared.join([this] { return run(*this); });
    }
};

} // namespace

TEST_CASE_FIXTURE(Work, "who comes while the work is under way gets its result, who comes later a new one") {
    Cancellable first(io, join());
    Cancellable second(io, join());
    io.poll();
    gate.set();
    second.wait();
    CHECK(first.value() == 1);
    CHECK(second.value() == 1);
    Cancellable third(io, join());
    third.wait();
    CHECK(third.value() == 2);
}

TEST_CASE_FIXTURE(Work, "when the one whose work it is gets cancelled, one of those who wait begins anew") {
    Cancellable first(io, join());
    Cancellable second(io, join());
    Cancellable third(io, join());
    io.poll();
    first.cancel();
    run_until(io, [&] { return runs == 2; });
    gate.set();
    second.wait();
    third.wait();
    CHECK(first.ended_by_cancellation());
    CHECK(second.value() == 2);
    CHECK(third.value() == 2);
}

TEST_CASE_FIXTURE(Work, "a waiter that is cancelled leaves the work to the others") {
    Cancellable first(io, join());
    Cancellable second(io, join());
    io.poll();
    second.cancel();
    second.wait();
    gate.set();
    first.wait();
    CHECK(second.ended_by_cancellation());
    CHECK(first.value() == 1);
}

} // namespace shared_run_test
