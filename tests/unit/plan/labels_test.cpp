#include "client/plan/labels.hpp"

#include <doctest/doctest.h>

namespace labels_test {

using namespace dockdist;

TEST_CASE("what is made for an allocation of Slurm bears its id") {
    const auto origin = labels::allocation_origin("ada", "4711", "/home/ada/cluster.yaml");
    CHECK(origin == "ada@slurm-job-4711:/home/ada/cluster.yaml");
    const auto all = labels::common("train-4711", "node", "a1", origin);
    CHECK(label_of(all, labels::slurm_job) == "4711");
    CHECK(label_of(all, labels::origin) == origin);
    CHECK(label_of(all, labels::role) == "node");
}

TEST_CASE("what is made for no allocation bears no id, whatever its file is called") {
    for (const std::string origin : {"ada@desk:/x", "ada@desk:/x@slurm-job-1:/y", "ada@slurm-job-:/x",
                                     "ada@slurm-job-12", "ada@slurm-job-1x:/x"}) {
        CAPTURE(origin);
        CHECK_FALSE(labels::common("c", "lock", "a", origin).contains(labels::slurm_job));
    }
}

} // namespace labels_test
