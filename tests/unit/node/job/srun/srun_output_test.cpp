#include "node/job/srun/srun_output.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

namespace srun_output_test {

using namespace dockdist::node;

namespace {

const OutputNames names{
    .job = "61", .job_name = "run", .user = "ada", .node = "node-1", .node_rank = 1, .rank = 3};

// What two tasks leave in a file that both write to.
std::string written(SrunOptions options, int tasks = 4) {
    const Scratch scratch;
    options.output = scratch / "out";
    SrunOutput output(options, tasks);
    auto other = names;
    other.rank = 2;
    REQUIRE(output.write(1, names, "first ha").has_value());
    REQUIRE(output.write(1, other, "whole\n").has_value());
    REQUIRE(output.write(1, names, "lf\nno end").has_value());
    REQUIRE(output.end().has_value());
    return read_file_or_empty(options.output);
}

} // namespace

TEST_CASE("names of files, as Slurm's") {
    CHECK(expand_output_name("o-%t-%n-%N-%j-%%-%2t", names) == "o-3-1-node-1-61-%-03");
    CHECK(expand_output_name("%x.%u.%J.%s.%A", names) == "run.ada.61.0.0.61");
    CHECK(expand_output_name("100%", names) == "100%");
    CHECK(expand_output_name("%q", names) == "%q");
}

TEST_CASE("lines stay whole, and bear their task's number where that is asked for") {
    CHECK(written({}) == "whole\nfirst half\nno end");
    CHECK(written({.label = true}) == "2: whole\n3: first half\n3: no end\n");
    CHECK(written({.label = true}, 11) == " 2: whole\n 3: first half\n 3: no end\n");
    CHECK(written({.unbuffered = true}) == "first hawhole\nlf\nno end");
}

TEST_CASE("a file that cannot be written is told once") {
    SrunOptions options{.output = "/no/such/folder/%t"};
    SrunOutput output(options, 4);
    CHECK(output.write(1, names, "x\n").error().message ==
          "Could not open stdout file /no/such/folder/3: No such file or directory");
    CHECK(output.write(1, names, "x\n").has_value());
    CHECK(output.end().has_value());
    options.error = "/no/such/folder/error";
    CHECK(output.write(2, names, "x\n").error().message ==
          "Could not open stderr file /no/such/folder/error: No such file or directory");
}

} // namespace srun_output_test
