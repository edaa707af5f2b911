#include "cli/find_job.hpp"

#include <iterator>

namespace dockdist {

Task<FoundJob> find_job(Context& context, std::string name, std::string node) {
    FoundJob found{.cluster = co_await attach_to_cluster(context)};
    auto nodes = found.cluster.nodes;
    found.errors = std::move(found.cluster.errors);
    if (!node.empty()) {
        auto one = find_node(nodes, node);
        if (!one) {
            found.errors.push_back(one.error());
            co_return found;
        }
        nodes = {std::move(*one)};
        found.errors.clear();
    }
    if (nodes.empty()) {
        co_return found;
    }
    auto list = co_await list_jobs(found.cluster.engines, nodes);
    std::ranges::move(list.errors, std::back_inserter(found.errors));
    auto job = choose_job(list.jobs, JobId(name));
    if (!job) {
        found.errors.push_back(job.error());
        co_return found;
    }
    found.job = std::move(*job);
    for (const auto& lost : left_out_of(found.job)) { // the job needs nothing of it
        std::erase_if(found.errors, [&](const Error& error) {
            return error.where == lost || error.where.starts_with(lost + " on ");
        });
    }
    found.found = true;
    co_return found;
}

} // namespace dockdist
