#include "client/async/limiter.hpp"
#include "fakes/cancellable.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace limiter_test {

using namespace dockdist;

namespace {

Task<bool> work(Limiter& limiter, AsyncEvent& gate, std::string name, std::vector<std::string>& log) {
    const auto permit = co_await limiter.acquire();
    log.push_back(name);
    co_await gate.wait();
    co_return true;
}

} // namespace

TEST_CASE("a limiter lets in as many as it has places, and the next ones in their order") {
    boost::asio::io_context io;
    Limiter limiter(io.get_executor(), 1);
    AsyncEvent first(io.get_executor());
    AsyncEvent rest(io.get_executor());
    std::vector<std::string> log;
    Cancellable a(io, work(limiter, first, "a", log));
    Cancellable b(io, work(limiter, rest, "b", log));
    Cancellable c(io, work(limiter, rest, "c", log));
    io.poll();
    CHECK(log == std::vector<std::string>{"a"});
    first.set();
    run_until(io, [&] { return log.size() == 2; });
    rest.set();
    c.wait();
    CHECK(log == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a cancelled waiter leaves the queue of a limiter") {
    boost::asio::io_context io;
    Limiter limiter(io.get_executor(), 1);
    AsyncEvent gate(io.get_executor());
    std::vector<std::string> log;
    Cancellable a(io, work(limiter, gate, "a", log));
    Cancellable b(io, work(limiter, gate, "b", log));
    Cancellable c(io, work(limiter, gate, "c", log));
    io.poll();
    b.cancel();
    b.wait();
    gate.set();
    c.wait();
    CHECK(log == std::vector<std::string>{"a", "c"});
}

TEST_CASE("a place that is given to a waiter in the moment of its cancellation is not lost") {
    boost::asio::io_context io;
    Limiter limiter(io.get_executor(), 1);
    AsyncEvent gate(io.get_executor());
    std::vector<std::string> log;
    Cancellable a(io, work(limiter, gate, "a", log));
    Cancellable b(io, work(limiter, gate, "b", log));
    io.poll();
    gate.set();
    run_until(io, [&] { return a.ended(); }); // its place was handed to b, which has not run yet
    b.cancel();
    b.wait();
    Cancellable c(io, work(limiter, gate, "c", log));
    c.wait();
    CHECK(log.back() == "c");
}

} // namespace limiter_test
