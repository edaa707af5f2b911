#include "node/job/flight_look.hpp"
#include "node/system/os.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace flight_look_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

constexpr std::int64_t short_ms = 300;

std::string a_dump() {
    std::ifstream stream(std::string(DOCKDIST_SOURCE_DIR) +
                             "/tests/gpu_day/recordings/h200/recorder/timeout-0.pickle",
                         std::ios::binary);
    REQUIRE(stream.good());
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Rank 3 of a job, in a folder of its own.
struct Rank {
    Scratch folder{};
    std::string pipe = folder / "frp_3.pipe", dump = folder / "fr_3";
    std::string environ{"RANK=3" + std::string(1, '\0') +
                        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=" + (folder / "frp_") + std::string(1, '\0') +
                        "TORCH_FR_DUMP_TEMP_FILE=" + (folder / "fr_") + std::string(1, '\0')};
    Fd listening{};

    void listen() {
        REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
        listening = Fd(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        REQUIRE(listening.open());
    }
    // As torch does when it is asked.
    bool was_asked() const {
        char letter = 0;
        return ::read(listening.get(), &letter, 1) == 1;
    }
    void write(const std::string& bytes) const { std::ofstream(dump, std::ios::binary) << bytes; }
    wire::FlightRecord look(std::int64_t limit_ms = short_ms) const {
        return FlightLook(environ, -1).read(limit_ms);
    }
};

} // namespace

TEST_CASE("a rank that is asked writes its dump, which is read") {
    Rank rank;
    rank.listen();
    const FlightLook look(rank.environ, -1);
    CHECK(rank.was_asked());
    rank.write(a_dump());
    const auto record = look.read();
    CHECK(record.problem.empty());
    CHECK(record.version == "2.10");
    CHECK(record.groups.at(0).first.name == "nccl:all_reduce");
    CHECK(look.read(0).version == "2.10"); // also long after it was asked
}

TEST_CASE("an older dump is none; who writes no new one is said to be silent") {
    Rank rank;
    rank.listen();
    rank.write(a_dump());
    const auto record = rank.look();
    CHECK(record.silent);
    CHECK(record.version.empty());
    CHECK(record.problem == "its flight recorder has not answered within 0 s");
}

TEST_CASE("without a recorder, or before there is a pipe, there is nothing to say") {
    const Rank rank;
    CHECK(rank.look() == wire::FlightRecord());
    CHECK(FlightLook("RANK=3", 3).read(short_ms) == wire::FlightRecord());
    CHECK(FlightLook(rank.environ.substr(7), -1).read(short_ms) == wire::FlightRecord()); // no number
}

TEST_CASE("what is in the pipe's or the dump's place is not taken for it") {
    {
        Rank rank;
        std::ofstream(rank.pipe) << "";
        CHECK(rank.look().problem == "its flight recorder's pipe is none");
    }
    {
        Rank rank;
        REQUIRE(::mkfifo(rank.pipe.c_str(), 0666) == 0);
        CHECK(rank.look().problem == "its flight recorder does not listen");
    }
    {
        Rank rank;
        REQUIRE(::symlink("/dev/null", rank.pipe.c_str()) == 0);
        CHECK(rank.look().problem.starts_with("its flight recorder's pipe: "));
    }
    const auto in_place = [](auto make) {
        Rank rank;
        rank.listen();
        const FlightLook look(rank.environ, -1);
        make(rank);
        return look.read().problem;
    };
    CHECK(in_place([](Rank& rank) { REQUIRE(::symlink("/etc/passwd", rank.dump.c_str()) == 0); }) != "");
    CHECK(in_place([](Rank& rank) { REQUIRE(::mkfifo(rank.dump.c_str(), 0666) == 0); }) != "");
    CHECK(in_place([](Rank& rank) {
              rank.write("x");
              REQUIRE(::link(rank.dump.c_str(), (rank.folder / "other").c_str()) == 0);
          }) == "its flight recorder's dump is not its own file, or larger than 64 MiB");
    CHECK(in_place([](Rank& rank) {
              rank.write("");
              REQUIRE(::truncate(rank.dump.c_str(), 65 << 20) == 0);
          }) == "its flight recorder's dump is not its own file, or larger than 64 MiB");
    CHECK(in_place([](Rank& rank) { rank.write("cos\nsystem\n."); }) ==
          "its flight recorder's dump is a pickle: it has an opcode that runs code");
}

} // namespace flight_look_test
