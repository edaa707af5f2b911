#include "client/report/output.hpp"
#include "pty.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <thread>

namespace output_test {

using namespace dockdist;
using test::Pty;

namespace {

class Environment { // NOLINT(cppcoreguidelines-special-member-functions)
public:
    Environment(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name)) {
            old_ = old;
            had_ = true;
        }
        ::setenv(name, value, 1);
    }
    ~Environment() { had_ ? ::setenv(name_, old_.c_str(), 1) : ::unsetenv(name_); }

private:
    const char* name_;
    std::string old_{};
    bool had_ = false;
};

struct Pipe {
    std::array<int, 2> ends{};
    Pipe() { REQUIRE(::pipe(ends.data()) == 0); }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    void close_end(std::size_t end) {
        if (ends[end] >= 0) {
            ::close(ends[end]);
            ends[end] = -1;
        }
    }
};

} // namespace

TEST_CASE("a terminal is coloured unless NO_COLOR says otherwise") {
    const Pty pty(80, 24);
    const Environment term("TERM", "xterm-256color");
    {
        const Environment no_color("NO_COLOR", "");
        CHECK(probe_output(pty.terminal()).tty);
        CHECK(probe_output(pty.terminal()).colour);
    }
    const Environment no_color("NO_COLOR", "1");
    CHECK(probe_output(pty.terminal()).tty);
    CHECK_FALSE(probe_output(pty.terminal()).colour);
}

TEST_CASE("a dumb terminal gets neither colours nor live display") {
    const Pty pty(80, 24);
    const Environment term("TERM", "dumb");
    CHECK_FALSE(probe_output(pty.terminal()).tty);
    CHECK_FALSE(probe_output(pty.terminal()).colour);
}

TEST_CASE("a pipe is no terminal") {
    const Pipe pipe;
    CHECK_FALSE(probe_output(pipe.ends[1]).tty);
}

TEST_CASE("the locale decides about Unicode, LC_ALL first") {
    const Environment lang("LANG", "en_US.UTF-8");
    {
        const Environment all("LC_ALL", "C");
        CHECK_FALSE(probe_output(1).unicode);
    }
    const Environment all("LC_ALL", "C.utf8");
    CHECK(probe_output(1).unicode);
}

TEST_CASE("the terminal's size is asked anew each time") {
    const Pty pty(80, 24);
    CHECK(terminal_size(pty.terminal()).columns == 80);
    pty.resize(132, 50);
    CHECK(terminal_size(pty.terminal()).columns == 132);
    CHECK(terminal_size(pty.terminal()).rows == 50);
    pty.resize(0, 0);
    CHECK(terminal_size(pty.terminal()).columns == 80);
}

TEST_CASE("same_output knows one pipe from two") {
    const Pipe a;
    const Pipe b;
    const int again = ::dup(a.ends[1]);
    CHECK(same_output(a.ends[1], again));
    CHECK_FALSE(same_output(a.ends[1], b.ends[1]));
    ::close(again);
}

TEST_CASE("a non-blocking descriptor takes everything, however slow its reader") {
    Pipe pipe;
    REQUIRE(::fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK) == 0);
    const std::string text(std::size_t{4} << 20U, 'x');
    std::size_t received = 0;
    std::thread reader([&] {
        std::array<char, 65536> part{};
        for (ssize_t count = 0; (count = ::read(pipe.ends[0], part.data(), part.size())) > 0;) {
            received += static_cast<std::size_t>(count);
        }
    });
    FdSink sink;
    sink.write(pipe.ends[1], Displayable::text(text));
    pipe.close_end(1);
    reader.join();
    CHECK(received == text.size());
    CHECK(sink.failed() == 0);
}

TEST_CASE("a reader that has gone is noticed and not written to again") {
    Pipe pipe;
    pipe.close_end(0);
    FdSink sink;
    sink.write(pipe.ends[1], Displayable::text("x"));
    sink.write(pipe.ends[1], Displayable::text("y"));
    CHECK(sink.failed() == EPIPE);
}

} // namespace output_test
