#include "client/job/log_files.hpp"
#include "unit/node/scratch.hpp"

#include <fstream>
#include <iterator>

namespace log_files_test {

using namespace dockdist;

namespace {

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("each rank has a file with its bytes as they came, and the launcher one of its own") {
    const Scratch scratch;
    auto files = LogFiles::create(scratch / "logs", JobId("job-1"));
    REQUIRE(files.has_value());
    files->output(NodeName("node-0"), 3, StdStream::out, "a\r\x1b[2J");
    files->output(NodeName("node-0"), 3, StdStream::err, std::string_view("\0b", 2));
    files->flush();
    files->output(NodeName("node-0"), 3, StdStream::out, "c");
    files->output(NodeName("node-0"), -1, StdStream::out, "launcher\n");
    files->flush();
    CHECK(files->written().has_value());
    CHECK(content(scratch / "logs/job-1/node-0.rank-3.log") == std::string("a\r\x1b[2J\0bc", 9));
    CHECK(content(scratch / "logs/job-1/node-0.log") == "launcher\n");
}

TEST_CASE("the folder of a job that did not begin goes, unless something was written into it") {
    const Scratch scratch;
    auto files = LogFiles::create(scratch.path, JobId("job-1"));
    files->forget();
    files = LogFiles::create(scratch.path, JobId("job-1"));
    REQUIRE(files.has_value());
    files->output(NodeName("node-0"), -1, StdStream::out, "a\n");
    files->flush();
    files->forget();
    CHECK(content(scratch / "job-1/node-0.log") == "a\n");
}

TEST_CASE("files that are there are never written over") {
    const Scratch scratch;
    REQUIRE(LogFiles::create(scratch.path, JobId("job-1")).has_value());
    const auto again = LogFiles::create(scratch.path, JobId("job-1"));
    REQUIRE(again.has_error());
    CHECK(again.error().kind == ErrorKind::conflict);
}

TEST_CASE("what cannot be written is counted and told") {
    const Scratch scratch;
    auto files = LogFiles::create(scratch.path, JobId("job-1"));
    std::filesystem::remove_all(scratch / "job-1");
    files->output(NodeName("node-0"), 0, StdStream::out, "12345");
    files->flush();
    const auto written = files->written();
    REQUIRE(written.has_error());
    CHECK(written.error().message ==
          "No such file or directory; 5 bytes of the job's output are not in its files");
}

} // namespace log_files_test
