#include "client/plan/driver_capabilities.hpp"
#include "client/plan/fingerprint.hpp"
#include "cluster_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace driver_capabilities_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

constexpr std::string_view variable = "NVIDIA_DRIVER_CAPABILITIES=";

ImageDetails image_with(std::vector<std::string> env) {
    auto details = image();
    details.env.insert(details.env.end(), env.begin(), env.end());
    return details;
}

// What a node has in its environment; empty: nothing of its own.
std::string given(const ClusterSpec& spec, const ImageDetails& image, const EngineInfo& engine = {}) {
    auto observed = fresh(spec);
    observed.hosts[0].image = image;
    observed.hosts[0].engine.runtimes = engine.runtimes;
    observed.hosts[0].engine.cdi_devices = engine.cdi_devices;
    observed.hosts[0].engine.cdi_spec_dirs = {"/etc/cdi"};
    observed.hosts[0].engine.api = {1, 50};
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.empty());
    for (const auto& line : result.plan.creates.at(0).config.env) {
        if (line.starts_with(variable)) {
            return line.substr(variable.size());
        }
    }
    return "";
}

std::vector<std::string> told(const ClusterSpec& spec, const ImageDetails& image) {
    auto observed = fresh(spec);
    observed.hosts[0].image = image;
    std::vector<std::string> texts;
    for (const auto& warning : make_plan(spec, observed, context()).warnings) {
        texts.push_back(warning.message + " -> " + warning.hint);
    }
    return texts;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("a node with GPUs gets compute and utility, and what its image asks for beside them") {
    const auto spec = spec_of(1);
    CHECK(given(spec, image()) == "compute,utility");
    CHECK(given(spec, image_with({"NVIDIA_DRIVER_CAPABILITIES="})) == "compute,utility");
    for (const auto* enough : {"all", "compute,utility", "utility,video,compute", "graphics,all"}) {
        CHECK(given(spec, image_with({std::string(variable) + enough})).empty());
        CHECK(told(spec, image_with({std::string(variable) + enough})).empty());
    }
    CHECK(given(spec, image_with({"NVIDIA_DRIVER_CAPABILITIES=graphics"})) == "graphics,compute,utility");
    CHECK(given(spec, image_with({"NVIDIA_DRIVER_CAPABILITIES=utility,video"})) == "utility,video,compute");
    CHECK(
        told(spec, image_with({"NVIDIA_DRIVER_CAPABILITIES=graphics"})) ==
        Texts{"the image only asks for NVIDIA_DRIVER_CAPABILITIES=graphics; its nodes get compute,utility as "
              "well -> nothing needs to be done; the image may say "
              "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility"});
}

TEST_CASE("an image from before nvidia-docker2, to which the hook gives all there is, keeps that") {
    CHECK(given(spec_of(1), image_with({"CUDA_VERSION=8.0"})).empty());
    CHECK(given(spec_of(1), image_with({"CUDA_VERSION=12.4", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"})) ==
          "compute,utility");
}

TEST_CASE("no node is made anew for what is the hook's own default; for what its image lacks it is") {
    const auto spec = spec_of(1);
    auto observed = after_up(spec);
    auto& node = observed.hosts[0].nodes.at(0);
    CHECK(node.labels.at(labels::spec) == fingerprint(node_config({.spec = spec,
                                                                   .node = expand_nodes(spec).at(0),
                                                                   .image = &*observed.hosts[0].image,
                                                                   .toolkit_version = "t1"},
                                                                  true)));
    CHECK(make_plan(spec, observed, context()).plan.creates.empty());
    observed.hosts[0].image = image_with({"NVIDIA_DRIVER_CAPABILITIES=graphics"});
    CHECK(make_plan(spec, observed, context()).plan.creates.at(0).cause ==
          "`env.NVIDIA_DRIVER_CAPABILITIES` changed");
}

TEST_CASE("what the file says is given as it stands, and told where it is too little") {
    auto spec = spec_of(1);
    spec.container.env["NVIDIA_DRIVER_CAPABILITIES"] = "all";
    CHECK(given(spec, image_with({"NVIDIA_DRIVER_CAPABILITIES=graphics"})) == "all");
    CHECK(told(spec, image_with({"NVIDIA_DRIVER_CAPABILITIES=graphics"})).empty());
    spec.hosts[0].env["NVIDIA_DRIVER_CAPABILITIES"] = "compute,video";
    CHECK(given(spec, image()) == "compute,video");
    CHECK(told(spec, image()) ==
          Texts{"`env` has NVIDIA_DRIVER_CAPABILITIES=compute,video, without utility: its nodes have no "
                "nvidia-smi, so dockdist knows nothing of their GPUs -> write "
                "`NVIDIA_DRIVER_CAPABILITIES: compute,video,utility`, or remove it"});
    spec.hosts[0].env["NVIDIA_DRIVER_CAPABILITIES"] = "\x1b[2J";
    CHECK(told(spec, image()).at(0).find('\x1b') == std::string::npos);
}

TEST_CASE("nodes without GPUs, with CDI names, or with AMD's, are given nothing of it") {
    auto spec = spec_of(1);
    const auto graphics = image_with({"NVIDIA_DRIVER_CAPABILITIES=graphics"});
    CHECK(given(spec, graphics, {.cdi_devices = {"nvidia.com/gpu=all"}}).empty());
    for (const auto& gpus : {GpuSpec{.kind = GpuSpec::Kind::none}, GpuSpec{.kind = GpuSpec::Kind::count},
                             GpuSpec{.amd = true}}) {
        spec.hosts[0].gpus = gpus;
        CHECK(given(spec, graphics).empty());
        CHECK(told(spec, graphics).empty());
    }
}

} // namespace driver_capabilities_test
