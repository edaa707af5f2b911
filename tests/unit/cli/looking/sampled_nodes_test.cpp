#include "client/cli/looking/sampled_nodes.hpp"
#include "fakes/cancellable.hpp"
#include "unit/cli/looking/sampled_hosts.hpp"

#include <doctest/doctest.h>

namespace sampled_nodes_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> texts(const Errors& errors) {
    std::vector<std::string> all;
    for (const auto& error : errors) {
        all.push_back(to_text(error));
    }
    return all;
}

Task<bool> followed(SampledNodes& nodes) {
    co_await nodes.follow();
    co_return true;
}

} // namespace

TEST_CASE("a node is up, down, or not known yet; what is missing is told by node") {
    testing::SampledHosts hosts(3);
    hosts.facts.gpus = {{.index = 0, .uuid = "GPU-a"}};
    hosts.fakes[1]->hold("ping");
    hosts.fakes[2]->fail("ping", {ErrorKind::unreachable, "", "connection refused", ""}, -1);
    SampledNodes nodes(hosts.context, hosts.cluster, 1s);
    Cancellable run(hosts.io, followed(nodes));
    run_until(hosts.io, [&] { return nodes.nodes()[0].sample && nodes.nodes()[2].up; });
    CHECK(nodes.nodes()[0].up == true);
    CHECK_FALSE(nodes.nodes()[1].up.has_value());
    CHECK(nodes.nodes()[2].up == false);
    run_task(hosts.io, nodes.first_round(0s)); // not for ever
    CHECK(texts(nodes.missing()) ==
          std::vector<std::string>{
              "node-0: the figures of its GPUs are missing: nvidia-smi has not answered yet\n"
              "  see `dockdist status`",
              "node-1: nothing is known of it yet: it has not answered, or its host has not\n"
              "  see `dockdist status`"});
    hosts.facts.gpus.clear();
    hosts.fakes[1]->release("ping");
    run_until(hosts.io, [&] { return nodes.missing().size() == 1; });
    run.cancel();
    run.wait();
}

} // namespace sampled_nodes_test
