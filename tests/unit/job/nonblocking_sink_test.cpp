#include "client/job/nonblocking_sink.hpp"
#include "fakes/run_task.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace nonblocking_sink_test {

using namespace dockdist;

namespace {

struct Reader {
    Reader() { REQUIRE(::pipe(ends.data()) == 0); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() {
        ::close(ends[0]);
        if (ends[1] >= 0) {
            ::close(ends[1]);
        }
    }
    // All that is in the pipe now.
    std::string take() {
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        std::string text;
        std::array<char, 65536> buffer{};
        for (auto count = ::read(ends[0], buffer.data(), buffer.size()); count > 0;
             count = ::read(ends[0], buffer.data(), buffer.size())) {
            text.append(buffer.data(), static_cast<std::size_t>(count));
        }
        return text;
    }
    std::array<int, 2> ends{-1, -1};
};

} // namespace

TEST_CASE("a reader that takes nothing does not stop the writer, and loses nothing") {
    boost::asio::io_context io;
    Reader reader;
    NonblockingSink sink(io.get_executor());
    std::string all;
    for (int i = 0; i < 20; ++i) { // a pipe holds 64 KiB
        all += std::string(20000, static_cast<char>('a' + i));
        sink.write(reader.ends[1], Displayable::text(std::string(20000, static_cast<char>('a' + i))));
    }
    CHECK(sink.kept() > 0);
    bool has_room = false;
    const auto wait = [&]() -> Task<void> {
        co_await sink.room();
        has_room = true;
    };
    boost::asio::co_spawn(io, wait(), boost::asio::detached);
    boost::asio::co_spawn(io, wait(), boost::asio::detached); // of two nodes: one waits for the other
    io.poll();
    CHECK_FALSE(has_room);
    std::string taken;
    while (!has_room) {
        taken += reader.take();
        io.poll();
    }
    taken += reader.take();
    CHECK(sink.kept() == 0);
    CHECK(taken == all);
}

TEST_CASE("a terminal that is stopped does not stop the writer, either") {
    boost::asio::io_context io;
    const int screen = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    REQUIRE(screen >= 0);
    REQUIRE(::grantpt(screen) == 0);
    REQUIRE(::unlockpt(screen) == 0);
    std::array<char, 256> name{};
    REQUIRE(::ptsname_r(screen, name.data(), name.size()) == 0);
    const int terminal = ::open(name.data(), O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    const std::string all(300000, 'x');
    std::string taken;
    {
        NonblockingSink sink(io.get_executor());
        sink.write(terminal, Displayable::raw(all));
        CHECK(sink.kept() > 0);
        std::array<char, 65536> buffer{};
        while (taken.size() < all.size()) {
            const auto count = ::read(screen, buffer.data(), buffer.size());
            if (count > 0) {
                taken.append(buffer.data(), static_cast<std::size_t>(count));
            }
            sink.write(terminal, Displayable::text(""));
        }
        CHECK(sink.kept() == 0);
    }
    CHECK(taken == all);
    ::close(terminal);
    ::close(screen);
}

TEST_CASE("a descriptor that others share stays as it was") {
    boost::asio::io_context io;
    Reader reader;
    NonblockingSink sink(io.get_executor());
    sink.write(reader.ends[1], Displayable::text("text"));
    CHECK((::fcntl(reader.ends[1], F_GETFL) & O_NONBLOCK) == 0);
    CHECK(reader.take() == "text");
}

TEST_CASE("a reader that has gone is no reason to wait") {
    boost::asio::io_context io;
    Reader reader;
    NonblockingSink sink(io.get_executor());
    ::close(reader.ends[0]);
    sink.write(reader.ends[1], Displayable::text("text"));
    CHECK(sink.kept() == 0);
    run_task(io, sink.room());
    reader.ends[0] = -1;
}

} // namespace nonblocking_sink_test
