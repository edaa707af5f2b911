#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"
#include "image/build_image.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

namespace build_image_test {

using namespace dockdist;

namespace {

class Told : public Reporter {
public:
    void on(const Event& event) override {
        if (event.kind == Event::Kind::note) {
            notes.push_back(event.subject + ": " + event.text);
        } else if (event.kind == Event::Kind::step_progress) {
            progress.push_back(event.text);
        } else {
            steps.push_back(event.subject + ": " + event.text);
        }
    }
    void error(const Error&) override {}
    void finish() override {}
    std::vector<std::string> notes{}, progress{}, steps{};
};

struct Building {
    Building() { std::ofstream(folder / "Dockerfile.train") << "FROM a\n"; }
    Status build() {
        return run_task(io, build_image(engine, "a",
                                        {.ref = ImageRef("train:1"),
                                         .platform = "linux/amd64",
                                         .from = "a",
                                         .build = BuildSpec{.context = folder.path,
                                                            .dockerfile = "Dockerfile.train",
                                                            .target = "t",
                                                            .args = {{"A", "1"}}}},
                                        "logins", told));
    }
    Scratch folder{};
    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor(), "a"};
    Told told{};
};

} // namespace

TEST_CASE_FIXTURE(Building, "a build is asked for what the file says, and its steps are told") {
    engine.on_build("train:1", {{.sent = 512},
                                {.text = "Step 1/2 : FROM a\nStep 2"},
                                {.text = "/2 : RUN x\n"},
                                {.pull = {.layer = "l", .status = "Downloading", .current = 1, .total = 2}}});
    CHECK(build().has_value());
    CHECK(engine.build_config.reference == ImageRef("train:1"));
    CHECK(engine.build_config.dockerfile == "Dockerfile.train");
    CHECK(engine.build_config.args == std::map<std::string, std::string>{{"A", "1"}});
    CHECK(engine.build_config.target == "t");
    CHECK(engine.build_config.platform == "linux/amd64");
    CHECK(engine.build_config.registry_config == "logins");
    CHECK(engine.build_tar.find("FROM a\n") != std::string::npos);
    CHECK(std::ranges::count(told.progress, "Step 1/2 : FROM a") == 1);
    CHECK(std::ranges::count(told.progress, "Step 2/2 : RUN x") == 1);
    CHECK(told.steps == std::vector<std::string>{"a: build train:1", "a: built"});
    CHECK(told.notes.empty());
}

TEST_CASE_FIXTURE(Building, "of a build that fails the last lines are told, without colours and controls") {
    std::string many = "Step 2/2 : RUN x\n";
    for (int i = 0; i < 30; ++i) {
        many += "line " + std::to_string(i) + "\n";
    }
    engine.on_build("train:1", {{.text = many}, {.text = "\x1b[91mwrong\a\x1b[0m\r\n\x1b[9"}},
                    Error{ErrorKind::config, "a", "step 2/2 (RUN x) ended with exit code 3", ""});
    CHECK(build().error().message == "step 2/2 (RUN x) ended with exit code 3");
    REQUIRE(told.notes.size() == 20);
    CHECK(told.notes.front() == "a: line 11");
    CHECK(told.notes.back() == "a: wrong\\x07");
    CHECK(told.steps.back() == "a: step 2/2 (RUN x) ended with exit code 3");
}

TEST_CASE_FIXTURE(Building, "without its Dockerfile the engine is not asked") {
    std::filesystem::remove(folder / "Dockerfile.train");
    CHECK(build().error().where == folder / "Dockerfile.train");
    CHECK(engine.calls.empty());
}

} // namespace build_image_test
