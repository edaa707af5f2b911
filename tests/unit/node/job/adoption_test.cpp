#include "node/job/adoption.hpp"
#include "node/job/job_store.hpp"
#include "node/job/log/output_log.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/wire/json_reader.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace adoption_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

// What a client has brought.
struct Incoming {
    Incoming() { ::setenv("DOCKDIST_TEST_ROOT", scratch.path.c_str(), 1); }
    ~Incoming() { ::unsetenv("DOCKDIST_TEST_ROOT"); }
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;

    std::string folder(const std::string& job) const { return paths().incoming_jobs + "/" + job; }
    void put(const std::string& job, const std::string& file, const std::string& content) const {
        std::filesystem::create_directories(folder(job));
        std::ofstream(folder(job) + "/" + file) << content;
    }
    void put_job(const std::string& job) const {
        const wire::JobSummary summary{.job = job, .started_ms = 1, .duration_ms = 2, .argv = {"x"}};
        put(job, "summary.json", wire::dump(nlohmann::json(summary)));
        put(job, std::filesystem::path(segment_path("", 0)).filename(), "frames");
    }
    // What is said of those that are not taken.
    static std::string adopt(const std::string& lines) {
        auto in = make_pipe();
        auto out = make_pipe();
        REQUIRE((in && out && write_all(in->write.get(), lines).has_value()));
        in->write.reset();
        REQUIRE(adopt_jobs(in->read.get(), out->write.get()).has_value());
        out->write.reset();
        std::string said(4096, '\0');
        const auto count = ::read(out->read.get(), said.data(), said.size());
        said.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        return said;
    }

    Scratch scratch;
};

} // namespace

TEST_CASE("jobs that came whole keep their output, others say where it is") {
    const Incoming incoming;
    incoming.put_job("night");
    incoming.put_job("day");
    CHECK(Incoming::adopt("whole night\nrecord day\n").empty());
    CHECK(job_ids() == std::vector<std::string>{"day", "night"});
    CHECK(load_summary("night")->duration_ms == 2);
    CHECK(output_of("night") == 6);
    CHECK(cause_of_gap(job_folder("night")).empty());
    CHECK(output_of("day") == 0);
    CHECK(cause_of_gap(job_folder("day")) == "it was left in the node's old container");
    CHECK_FALSE(std::filesystem::exists(paths().incoming_jobs));
}

TEST_CASE("a job of the store is not replaced, and what is no job is refused") {
    const Incoming incoming;
    REQUIRE(create_job("mine").has_value());
    incoming.put_job("mine");
    incoming.put("damaged", "summary.json", "{");
    incoming.put("empty", "log.0", "");
    const auto said = Incoming::adopt("whole mine\nwhole damaged\nwhole empty\nwhole gone\nwhole ../../x\n");
    CHECK(said.find("mine: there is a job of that name since then\n") != std::string::npos);
    for (const auto* job : {"damaged: ", "empty: ", "gone: it did not come"}) {
        CHECK(said.find(job) != std::string::npos);
    }
    CHECK(job_ids() == std::vector<std::string>{"mine"});
}

TEST_CASE("nothing but a job's own plain files comes into the store") {
    const Incoming incoming;
    incoming.put_job("a");
    incoming.put("a", "reserve", "");
    incoming.put("a", "x.sh", "");
    std::filesystem::create_symlink("/etc/passwd", incoming.folder("a") + "/history.json");
    std::filesystem::create_directories(incoming.folder("a") + "/log.dir/deep");
    incoming.put_job("elsewhere");
    std::filesystem::rename(incoming.folder("elsewhere"), incoming.scratch / "elsewhere");
    std::filesystem::create_symlink(incoming.scratch / "elsewhere", incoming.folder("link"));
    CHECK(Incoming::adopt("whole a\nwhole link\n") == "link: it did not come\n");
    CHECK(list_folder(job_folder("a")).size() == 2); // the record and the output
    CHECK(job_ids() == std::vector<std::string>{"a"});
}

} // namespace adoption_test
