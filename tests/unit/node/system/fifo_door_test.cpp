#include "node/system/fifo_door.hpp"
#include "node/system/process.hpp"
#include "unit/node/scratch.hpp"
#include "unit/node/turned_loop.hpp"

#include <csignal>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace fifo_door_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

struct Door {
    explicit Door(KnockWith what = KnockWith::outputs) : with(what) {
        ::signal(SIGPIPE, SIG_IGN);
        door.emplace(time.loop, door_at(scratch / "door"), scratch.path, what,
                     [this](Caller caller) { callers.push_back(std::move(caller)); });
    }
    Knock knock(const std::string& words) {
        auto knocked = Knock::at(scratch / "door", scratch.path, words, with);
        REQUIRE(knocked.has_value());
        return std::move(*knocked);
    }
    void write(const std::string& line) const {
        const Fd way(::open((scratch / "door").c_str(), O_WRONLY | O_NONBLOCK));
        REQUIRE(write_all(way.get(), line).has_value());
    }

    Scratch scratch{};
    TurnedLoop time{};
    KnockWith with;
    std::vector<Caller> callers{};
    std::optional<FifoDoor> door{};
};

std::string text_of(const Fd& fd) {
    std::string text(100, '\0');
    const auto count = ::read(fd.get(), text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

} // namespace

TEST_CASE("words go both ways, outputs one way, and no name is left") {
    Door host;
    auto knock = host.knock("who it is");
    CHECK(::write(knock.to(), "early", 5) == 5);
    CHECK(::write(knock.out().get(), "output", 6) == 6);
    CHECK(::write(knock.err().get(), "errors", 6) == 6);
    knock.forget_outputs();
    CHECK_FALSE(knock.was_heard());
    host.time.settle();
    REQUIRE(host.callers.size() == 1);
    auto& caller = host.callers[0];
    CHECK(knock.await_heard());
    CHECK(caller.words == "who it is");
    CHECK(text_of(caller.from) == "early");
    CHECK(text_of(caller.out) == "output");
    CHECK(text_of(caller.err) == "errors");
    CHECK(knock.write("late"));
    CHECK(text_of(caller.from) == "late");
    CHECK(::write(caller.to.get(), "answer", 6) == 6);
    std::string answer(6, ' ');
    CHECK(::read(knock.from(), answer.data(), answer.size()) == 6);
    CHECK(answer == "answer");
    CHECK(list_folder(host.scratch.path) == std::vector<std::string>{"door"});
    caller = {};
    CHECK_FALSE(knock.write("nobody"));
}

TEST_CASE("what was written before root came is there, though who wrote it only waits for that") {
    Door host;
    const pid_t child = ::fork();
    if (child == 0) {
        auto knock = host.knock("child");
        (void)::write(knock.to(), "last words", 10);
        ::_exit(knock.await_heard() ? 0 : 1);
    }
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
        host.time.settle();
    }
    CHECK(exit_status(status).code == 0);
    REQUIRE(host.callers.size() == 1);
    CHECK(text_of(host.callers[0].from) == "last words");
}

TEST_CASE("where root is gone, a knock is an error, and one that waits is told") {
    Door host;
    auto knock = host.knock("early");
    host.door.reset();
    CHECK_FALSE(knock.await_heard());
    CHECK_FALSE(Knock::at(host.scratch / "door", host.scratch.path, "late", KnockWith::words).has_value());
    CHECK_FALSE(Knock::at(host.scratch / "none", host.scratch.path, "late", KnockWith::words).has_value());
}

TEST_CASE("where the folder takes no FIFO none is left, and nobody has knocked") {
    Door host;
    CHECK_FALSE(
        Knock::at(host.scratch / "door", host.scratch / "no folder", "x", KnockWith::outputs).has_value());
    host.time.settle();
    CHECK(host.callers.empty());
}

TEST_CASE("nothing but FIFOs of the folder is opened") {
    Door host(KnockWith::words);
    const std::string number = "0123456789abcdef";
    const auto in = host.scratch / ("fifo." + number + ".in").c_str();
    const auto back = host.scratch / ("fifo." + number + ".back").c_str();
    const auto makes = std::vector<std::function<int()>>{
        [&] { return ::symlink("/dev/zero", in.c_str()); },
        [&] { return ::mkdir(in.c_str(), 0700); },
        [&] { return Fd(::open(in.c_str(), O_WRONLY | O_CREAT, 0600)).open() ? 0 : -1; },
        [&] { return 0; },
    };
    for (const auto& make : makes) {
        REQUIRE(::mkfifo(back.c_str(), 0600) == 0);
        const Fd reader(::open(back.c_str(), O_RDONLY | O_NONBLOCK));
        REQUIRE(make() == 0);
        host.write("\n" + number + " x\n");
        host.time.settle();
        CHECK(host.callers.empty());
        ::rmdir(in.c_str());
        CHECK(list_folder(host.scratch.path) == std::vector<std::string>{"door"});
    }
}

TEST_CASE("noise is passed over, and the next knock is heard") {
    Door host(KnockWith::words);
    for (const auto* noise :
         {"\n", "x", "../../etc/passwd x\n", "0123456789abcdef\n", "0123456789ABCDEF x\n", " \n"}) {
        host.write(noise);
    }
    host.write(std::string(20000, 'y'));
    const auto knock = host.knock("here");
    host.time.settle();
    REQUIRE(host.callers.size() == 1);
    CHECK(host.callers[0].words == "here");
}

TEST_CASE("as many as knock without an end are taken in turns") {
    Door host(KnockWith::words);
    const Fd way(::open((host.scratch / "door").c_str(), O_WRONLY | O_NONBLOCK));
    ::fcntl(way.get(), F_SETPIPE_SZ, 1 << 20);
    const std::string lines(1U << 20U, '\n');
    REQUIRE(::write(way.get(), lines.data(), lines.size()) > 100000);
    (void)host.time.loop.turn(0);
    pollfd full{.fd = way.get(), .events = POLLOUT, .revents = 0};
    int left = 0;
    REQUIRE(::ioctl(way.get(), FIONREAD, &left) == 0);
    CHECK(left > 0); // it has looked at others since
    host.time.settle();
    CHECK(::poll(&full, 1, 0) == 1);
}

} // namespace fifo_door_test
