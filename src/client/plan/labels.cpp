#include "client/plan/labels.hpp"

#include <fmt/format.h>

#include <string_view>

namespace dockdist::labels {
namespace {

constexpr std::string_view machine_of_allocation = "@slurm-job-";

// Empty: it is of no allocation.
std::string job_of(std::string_view by) {
    const auto at = by.find(machine_of_allocation);
    if (at == std::string_view::npos || by.find('@') != at) {
        return {};
    }
    const auto id = by.substr(at + machine_of_allocation.size());
    const auto end = id.find_first_not_of("0123456789");
    return end == std::string_view::npos || id[end] != ':' ? std::string() : std::string(id.substr(0, end));
}

} // namespace

std::string store_volume(const std::string& of_cluster, const std::string& of_node) {
    return "dockdist-store-" + of_cluster + "_" + of_node;
}

Labels store_labels(const std::string& of_cluster, const std::string& of_node, const std::string& by) {
    auto all = common(of_cluster, "store", "", by);
    all.erase(attempt);
    all[node] = of_node;
    return all;
}

std::string allocation_origin(const std::string& user, const std::string& job, const std::string& file) {
    return fmt::format("{}{}{}:{}", user, machine_of_allocation, job, file);
}

Labels common(const std::string& of_cluster, const char* as, const std::string& of_attempt,
              const std::string& by) {
    Labels all{{cluster, of_cluster}, {role, as}, {attempt, of_attempt}, {origin, by}};
    if (auto job = job_of(by); !job.empty()) {
        all[slurm_job] = std::move(job);
    }
    return all;
}

} // namespace dockdist::labels
