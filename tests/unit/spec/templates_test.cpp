#include "client/spec/spec_keys.hpp"
#include "client/spec/starter.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

namespace templates_test {

using namespace dockdist;
using namespace dockdist::test;

namespace {

std::string template_text(const std::string& name) {
    return read_file(source_folder() / "templates" / name);
}

} // namespace

TEST_CASE("every template is a good file, without a variable set") {
    const auto files = files_in(source_folder() / "templates", ".yaml");
    REQUIRE(files.size() >= 5);
    for (const auto& file : files) {
        const auto loaded = load_spec_file(file, environment());
        CAPTURE(file.filename().string());
        // What `init` writes names machines that are nobody's, and says so.
        const bool is_starter = file.filename() == "minimal.yaml";
        CHECK_MESSAGE(loaded.errors.size() == (is_starter ? 2 : 0), all_text(loaded.errors));
        CHECK_MESSAGE(loaded.warnings.empty(), all_text(loaded.warnings));
    }
}

TEST_CASE("reference.yaml states the defaults") {
    const auto spec = load_good(template_text("reference.yaml"));
    const auto minimal = load_good("image: a\nhosts: [ssh://h]\n");
    CHECK(spec.container == minimal.container);
    CHECK(spec.ssh == minimal.ssh);
    CHECK(spec.sync == minimal.sync);
    CHECK(spec.image.pull == minimal.image.pull);
    CHECK(spec.image.platform == minimal.image.platform);
    CHECK(spec.hosts[0].insecure == minimal.hosts[0].insecure);
    CHECK(spec.hosts[0].gpus == minimal.hosts[0].gpus);
    CHECK(spec.hosts[0].cdi == minimal.hosts[0].cdi);
    CHECK(spec.hosts[0].nodes == minimal.hosts[0].nodes);
    CHECK(spec.hosts[0].env == minimal.hosts[0].env);
    CHECK(spec.launcher == "plain"); // what an empty one means
    CHECK(spec.roles == minimal.roles);
    CHECK(spec.spares == 0);
    CHECK(spec.gpu_in_use_above == minimal.gpu_in_use_above);
}

TEST_CASE("reference.yaml names every key") {
    const auto text = template_text("reference.yaml");
    for (const auto& section : spec_sections()) {
        if (section.path == "container.ulimits") {
            continue; // the kernel's own list
        }
        for (const auto& key : section.keys) {
            CAPTURE(std::string(section.path) + "." + std::string(key.name));
            CHECK(text.find(std::string(key.name)) != std::string::npos);
        }
    }
}

TEST_CASE("the unedited starter says where your own machines go") {
    const auto errors = load_spec(template_text("minimal.yaml"), "cluster.yaml", environment()).errors;
    REQUIRE(errors.size() == 2);
    CHECK(to_text(errors[0]) == "cluster.yaml:10:5: `hosts[0]`: 192.0.2.1 is an example, "
                                "not a machine's address\n  put your own machines here: `- ssh://USER@HOST`");
}

TEST_CASE("local.yaml makes two nodes on one engine") {
    const auto nodes = expand_nodes(load_good(template_text("local.yaml")));
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].host == nodes[1].host);
}

TEST_CASE("the starter files are the templates") {
    CHECK(starter_file(false) == template_text("minimal.yaml"));
    CHECK(starter_file(true) == template_text("local.yaml"));
    CHECK(starter_training() == template_text("train.py"));
}

} // namespace templates_test
