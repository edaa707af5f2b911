#include "node/job/log/log_reader.hpp"
#include "node/job/log/log_selection.hpp"
#include "node/job/log/output_log.hpp"
#include "node/system/os.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"
#include "unit/node/scratch.hpp"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

namespace output_log_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

std::vector<wire::Frame> frames_of(const std::string& path) {
    wire::FrameDecoder decoder;
    decoder.feed(*read_file(path));
    std::vector<wire::Frame> frames;
    for (auto frame = decoder.next(); frame && *frame; frame = decoder.next()) {
        frames.push_back(**frame);
    }
    return frames;
}

} // namespace

TEST_CASE("each frame's position is where it stands in the file") {
    const Scratch scratch;
    auto log = OutputLog::create(scratch.path, wire::default_log_limit);
    REQUIRE(log.has_value());
    log->append(1, 0, "first");
    log->append(2, 1, "second");
    const auto frames = frames_of(segment_path(scratch.path, 0));
    REQUIRE(frames.size() == 2);
    CHECK(frames[0].position == 0);
    CHECK(frames[1].position == wire::frame_header_size + 5);
    CHECK(frames[1].rank == 1);
    CHECK(frames[1].stream == 2);
    CHECK(log->size() == 2 * wire::frame_header_size + 11);
}

TEST_CASE("a tail is one rank's last whole lines, both streams in order") {
    const Scratch scratch;
    auto log = OutputLog::create(scratch.path, wire::default_log_limit);
    log->append(1, 0, "one\n");
    log->append(1, 1, "other rank\n");
    log->append(2, 0, "two\n");
    CHECK(log->tail(0) == "one\ntwo\n");
    CHECK(log->tail(0, 6) == "two\n");
    CHECK(log->tail(7).empty());
}

TEST_CASE("of a log that was dropped its reader is told what went and why, and goes on at its end") {
    const Scratch scratch;
    std::uint64_t end = 0;
    {
        auto log = OutputLog::create(scratch.path, wire::default_log_limit);
        log->append(1, 0, "short\n");
        end = log->size();
    }
    drop_output(scratch.path, "it is old");
    drop_output(scratch.path, "again"); // changes nothing
    CHECK(log_segments(scratch.path).size() == 1);
    LogReader reader(scratch.path, 0);
    std::string out;
    REQUIRE(reader.read(out).has_value());
    wire::FrameDecoder decoder;
    decoder.feed(out);
    const auto told = decoder.next();
    REQUIRE((told && *told));
    CHECK((*told)->payload ==
          "dockdist: " + std::to_string(end) + " bytes of this node's output are gone: it is old\n");
    CHECK(reader.position() == end);
    // As the client reckons it, who goes on there.
    CHECK((*told)->position + wire::frame_header_size + (*told)->payload.size() == end);
    REQUIRE(reader.read(out).has_value());
    CHECK(out.empty());
}

TEST_CASE("a log that was dropped tells so to whoever asks for its last lines") {
    const Scratch scratch;
    OutputLog::create(scratch.path, wire::default_log_limit)->append(1, 0, "short\n");
    drop_output(scratch.path, "it is old");
    LogSelection selection(scratch.path, {.to_the_end = false, .tail = 3}, unix_ms());
    std::string out;
    REQUIRE(selection.read(out).has_value());
    CHECK(out.find("it is old") != std::string::npos);
    CHECK(selection.complete());
}

TEST_CASE("a log that shrinks keeps its newest output, says so in it, and does so once") {
    const Scratch scratch;
    auto log = OutputLog::create(scratch.path, wire::default_log_limit);
    const std::string some(1000, 'x');
    for (int i = 0; i < 100; ++i) {
        log->append(1, 0, some);
    }
    log->shrink(20000, "the disk is full");
    log->shrink(30000, "not told, as it keeps less already");
    for (int i = 0; i < 100; ++i) {
        log->append(1, 0, some);
    }
    const auto extent = log_extent(scratch.path);
    CHECK(extent.end == log->size());
    CHECK(extent.end - extent.begin <= 20000);
    LogReader reader(scratch.path, 0);
    std::string out;
    REQUIRE(reader.read(out).has_value());
    CHECK(reader.told_a_gap());
    CHECK(out.find("the disk is full") != std::string::npos);
    CHECK(out.find("not told") == std::string::npos);
}

TEST_CASE("who follows a log waits for no pipe that stands in its place") {
    const Scratch scratch;
    REQUIRE(::mkfifo(segment_path(scratch.path, 0).c_str(), 0600) == 0);
    std::string out;
    CHECK(LogReader(scratch.path, 0).read(out).has_value());
    CHECK(out.empty());
}

TEST_CASE(
    "a failed rank's tail keeps the cause, however far above its end and in however many pieces it came") {
    const Scratch scratch;
    auto log = OutputLog::create(scratch.path, wire::default_log_limit);
    log->append(1, 0, std::string(100'000, 'x') + "\n");
    log->append(2, 0,
                "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an "
                "illegal access\n");
    for (int i = 0; i < 300; ++i) {
        log->append(2, 0, "frame #" + std::to_string(i));
        log->append(
            2, 0, ": c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f1a2b3c in libc10.so)\n");
    }
    const auto tail = log->telling_tail(0);
    CHECK(tail.size() <= 4097);
    CHECK(tail.find("CUDA error: an illegal access") != std::string::npos);
    log->append(1, 1, "  short\n\n");
    CHECK(log->telling_tail(1) == "  short\n\n");
}

TEST_CASE("a full disk loses output, says how much, and keeps the log whole") {
    const Scratch scratch;
    auto log = OutputLog::create(scratch.path, wire::default_log_limit);
    log->append(1, 0, "before\n");
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{.rlim_cur = log->size() + 30, .rlim_max = limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    log->append(1, 0, "this does not fit any more\n");
    log->append(1, 0, "nor this\n");
    ::setrlimit(RLIMIT_FSIZE, &limit);
    log->append(1, 0, "after\n");
    const auto frames = frames_of(segment_path(scratch.path, 0));
    REQUIRE(frames.size() == 3);
    CHECK(frames[0].payload == "before\n");
    CHECK(frames[1].payload == "dockdist: 36 bytes of output were lost: the disk was full\n");
    CHECK(frames[2].payload == "after\n");
}

TEST_CASE("a log that is there is never written over") {
    const Scratch scratch;
    REQUIRE(OutputLog::create(scratch.path, wire::default_log_limit).has_value());
    CHECK(OutputLog::create(scratch.path, wire::default_log_limit).has_error());
}

TEST_CASE("the oldest segments go at the limit, and positions go on") {
    const Scratch scratch;
    auto log = OutputLog::create(scratch.path, wire::least_log_limit);
    const std::string piece(10000, 'x');
    for (int i = 0; i < 300; ++i) { // three times the limit
        log->append(1, i, piece);
    }
    const auto segments = log_segments(scratch.path);
    std::uint64_t kept = 0;
    for (const auto& segment : segments) {
        kept += std::filesystem::file_size(segment.path);
    }
    CHECK(log->size() == 300 * (wire::frame_header_size + piece.size()));
    CHECK(kept <= static_cast<std::uint64_t>(wire::least_log_limit));
    CHECK(kept > static_cast<std::uint64_t>(wire::least_log_limit) * 7 / 8);
    CHECK(segments.front().first + kept == log->size());
    CHECK(frames_of(segments.front().path).front().position == segments.front().first);
    CHECK(log->tail(299, 5) == "xxxxx");
    CHECK(log->tail(0).empty()); // its last lines are gone with their segment
}

TEST_CASE("a frame above a segment's share has one for itself") {
    const Scratch scratch;
    auto log = OutputLog::create(scratch.path, wire::least_log_limit);
    for (int i = 0; i < 10; ++i) {
        log->append(1, 0, std::string(std::size_t{256} << 10U, 'x'));
    }
    CHECK(log_segments(scratch.path).size() == 3); // a fourth one would not fit with its header
}

} // namespace output_log_test
