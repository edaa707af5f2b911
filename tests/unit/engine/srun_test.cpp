// Engines of an allocation's nodes, through steps.
#include "behind_srun.hpp"
#include "client/async/run_all.hpp"

#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

namespace srun_test {

using namespace dockdist;

TEST_CASE_FIXTURE(BehindSrun, "calls and streams travel over one step") {
    const auto client = engine();
    CHECK(run_task(io, client->inspect_volume("v")));
    CHECK(run_task(io, converse(*client, "hello")).value() == "got hello");
    CHECK(run_task(io, client->inspect_volume("v")));
    CHECK(steps().size() == 1);
    CHECK(server.connections() == 2);
    const auto words = read(folder.file("words"));
    CHECK(words.starts_with("--gres=none --jobid=7 --overlap --nodes=1 --ntasks=1 --nodelist=n1 "));
}

TEST_CASE_FIXTURE(BehindSrun, "many streams side by side, each with its own bytes") {
    const auto client = engine();
    std::vector<Task<Result<std::string>>> tasks;
    const auto input = [](int i) { return std::string(300'000, static_cast<char>('a' + i % 26)); };
    for (int i = 0; i < 16; ++i) {
        tasks.push_back(converse(*client, input(i)));
    }
    const auto outputs = run_task(io, run_all(std::move(tasks)));
    for (int i = 0; i < 16; ++i) {
        REQUIRE(outputs[static_cast<std::size_t>(i)]);
        CHECK(*outputs[static_cast<std::size_t>(i)] == "got " + input(i));
    }
    CHECK(steps().size() == 1);
}

TEST_CASE_FIXTURE(BehindSrun, "what a site's prolog says before the step is not the tunnel's") {
    srun(R"(echo "$$" >>"FOLDER/pids"; while [ "$1" != sh ]; do shift; done
echo "Welcome to n1."; printf "no line"; exec "$@")");
    CHECK(run_task(io, engine()->ping()));
}

TEST_CASE_FIXTURE(BehindSrun, "a node of another architecture gets the program for that") {
    std::ofstream(folder.file("uname")) << "#!/bin/sh\necho sparc64\n";
    std::filesystem::permissions(folder.file("uname"), std::filesystem::perms::owner_all);
    const auto behind = engine();
    CHECK(run_task(io, behind->ping()).has_value());
    REQUIRE(machines.size() == 2);
    CHECK(machines[0] != "sparc64");
    CHECK(machines[1] == "sparc64");
    CHECK(steps().size() == 2);
}

TEST_CASE_FIXTURE(BehindSrun, "a step that was lost is made again by the next call") {
    const auto client = engine();
    REQUIRE(run_task(io, client->ping()));
    ::kill(steps().front(), SIGKILL);
    CHECK(run_task(io, client->ping()));
    CHECK(steps().size() == 2);
}

TEST_CASE_FIXTURE(BehindSrun, "a stream of a step that ends says what srun said") {
    srun(R"(echo "$$" >>"FOLDER/pids"; while [ "$1" != sh ]; do shift; done
echo "srun: error: *** STEP 7.0 ON n1 CANCELLED AT 12:00 DUE TO TIME LIMIT ***" >&2; exec "$@")");
    const auto client = engine();
    auto stream = run_task(io, client->start_exec(ExecId("e")));
    REQUIRE(stream);
    ::kill(steps().front(), SIGKILL);
    const auto chunk = run_task(io, (*stream)->read());
    REQUIRE_FALSE(chunk);
    CHECK(chunk.error().message ==
          "the step is over on n1: *** STEP 7.0 ON n1 CANCELLED AT 12:00 DUE TO TIME LIMIT ***");
    CHECK(chunk.error().hint.starts_with("has allocation 7 ended"));
}

TEST_CASE_FIXTURE(BehindSrun, "nothing of the program stays in the folder that it was run from") {
    ::setenv("XDG_RUNTIME_DIR", folder.file("run").c_str(), 1);
    ::mkdir(folder.file("run").c_str(), 0700);
    const auto client = engine();
    REQUIRE(run_task(io, client->ping()));
    CHECK(std::filesystem::is_empty(folder.file("run")));
    ::unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE_FIXTURE(BehindSrun, "outside of an allocation nothing is started") {
    ::unsetenv("SLURM_JOB_ID");
    const auto error = refusal("srun://n1");
    CHECK(error.kind == ErrorKind::config);
    CHECK(error.message == "srun://n1 is reached from inside a Slurm allocation only, and this is none "
                           "(SLURM_JOB_ID is not set)");
    CHECK(steps().empty());
}

TEST_CASE_FIXTURE(BehindSrun, "an srun that starts nothing is told in its own words") {
    srun("echo 'srun: error: Unable to create step for job 7: Invalid job id specified' >&2\n"
         "echo 'srun: it goes on' >&2; exit 1");
    const auto ended = refusal("srun://n1");
    CHECK(ended.message ==
          "srun starts no step on n1: Unable to create step for job 7: Invalid job id specified");
    CHECK(ended.hint.starts_with("has allocation 7 ended"));
    CHECK(ended.kind == ErrorKind::config);
    srun("echo 'srun: error: Requested node configuration is not available' >&2; exit 1");
    CHECK(refusal("srun://n1").hint ==
          "is n1 a node of the allocation? `scontrol show hostnames` lists them");
}

TEST_CASE_FIXTURE(BehindSrun, "a socket that is not there, and one that nobody listens on") {
    CHECK(refusal("srun://n1" + folder.file("no.sock")).message ==
          "no socket at " + folder.file("no.sock") + " on n1");
    {
        const LocalFront gone(io, folder.file("gone.sock"), server.address());
    }
    CHECK(refusal("srun://n1" + folder.file("gone.sock")).message ==
          "nothing listens on " + folder.file("gone.sock") + " on n1");
}

} // namespace srun_test
