#include "node/job/log/output_pipes.hpp"
#include "shared/wire/job.hpp"
#include "unit/node/scratch.hpp"
#include "unit/node/turned_loop.hpp"

namespace output_pipes_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

struct Piped {
    Piped() {
        auto made = make_pipe();
        REQUIRE(made.has_value());
        pipe = std::move(*made);
        set_nonblocking(pipe.read.get());
        pipes.watch(pipe.read, 1, 0);
    }
    void write(const std::string& text) const { REQUIRE(write_all(pipe.write.get(), text).has_value()); }

    Scratch scratch{};
    TurnedLoop time{};
    OutputLog log = *OutputLog::create(scratch.path, wire::least_log_limit);
    OutputPipes pipes{time.loop, log};
    Pipe pipe{};
};

} // namespace

TEST_CASE("of a pipe that is written to for ever, what was there is taken") {
    Piped job;
    int taken = 0;
    job.pipes.on_output = [&](std::uint8_t, std::int32_t, std::string_view) {
        if (++taken < 1000) {
            job.write("more\n");
        }
    };
    job.write("some\n");
    job.pipes.drain(job.pipe.read, 1, 0);
    CHECK(taken == 1);
    CHECK(job.pipe.read.open());
}

TEST_CASE("its end closes it, whenever that comes") {
    Piped job;
    job.write("last words\n");
    job.pipe.write.reset();
    job.time.settle();
    CHECK(job.log.tail(0) == "last words\n");
    CHECK_FALSE(job.pipe.read.open());
    job.pipes.drain(job.pipe.read, 1, 0);
    job.pipes.forget(job.pipe.read);
}

} // namespace output_pipes_test
