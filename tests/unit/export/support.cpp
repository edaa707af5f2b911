#include "unit/export/support.hpp"

#include "client/spec/load_spec.hpp"

#include <doctest/doctest.h>

namespace dockdist::test {

ExportJob job_of(const std::string& yaml, const Line& line) {
    const auto loaded =
        load_spec(yaml, "/home/ada/vision/cluster.yaml", [](const std::string&) { return std::nullopt; },
                  {.resolve_secrets = false});
    for (const auto& error : loaded.errors) {
        FAIL_CHECK(to_text(error));
    }
    REQUIRE(loaded.errors.empty());
    const auto& spec = loaded.spec;
    ExportJob job{.spec = spec,
                  .name = line.name.empty() ? spec.name.str() : line.name,
                  .launcher = *find_launcher(line.launcher),
                  .own_env = line.env,
                  .workdir = spec.container.workdir,
                  .grace = std::chrono::seconds(10),
                  .backoff = std::chrono::seconds(1)};
    job.request.command = line.command;
    job.request.ranks_per_node = line.gpus;
    job.request.per_rank = line.per_rank;
    job.request.via = line.via;
    job.request.options = line.launcher_args;
    job.request.roles = line.roles;
    std::vector<NodeName> names;
    for (const auto& node : expand_nodes(spec)) {
        names.push_back(node.name);
    }
    auto nodes = placed(spec, names, line.nodes == 0 ? names.size() : line.nodes, line.gpus);
    REQUIRE_MESSAGE(nodes.has_value(), to_text(nodes.error()));
    take_from_file(job, std::move(*nodes));
    return job;
}

} // namespace dockdist::test
