#include "shared/diagnosis/place.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace place_test {

using namespace dockdist;

namespace {

const std::string packages = "/usr/lib/python3/dist-packages/";

CodePlace of(std::vector<wire::StackFrame> frames) {
    return place_of({.name = "MainThread", .frames = std::move(frames)});
}

} // namespace

TEST_CASE("the innermost function of a known library says what a thread is busy with") {
    const wire::StackFrame own{"step", "/workspace/train.py", 9};
    const auto in = [&](const std::string& file, const std::string& function) {
        return of({{function, packages + file, 1}, own}).business;
    };
    CHECK(in("torch/distributed/distributed_c10d.py", "all_reduce") == Business::collective);
    CHECK(in("torch/distributed/distributed_c10d.py", "barrier") == Business::collective);
    CHECK(in("torch/distributed/distributed_c10d.py", "_store_based_barrier") == Business::rendezvous);
    CHECK(in("torch/distributed/distributed_c10d.py", "init_process_group") == Business::rendezvous);
    CHECK(in("torch/distributed/rendezvous.py", "_create_c10d_store") == Business::rendezvous);
    CHECK(in("torch/nn/parallel/distributed.py", "_sync_buffers") == Business::collective);
    CHECK(in("torch/nn/parallel/distributed.py", "forward") == Business::other);
    CHECK(in("torch/autograd/graph.py", "_engine_run_backward") == Business::backward);
    CHECK(in("torch/utils/data/dataloader.py", "_try_get_data") == Business::data);
    CHECK(in("torch/serialization.py", "save") == Business::storage);
    CHECK(in("torch/_inductor/codecache.py", "load") == Business::compile);
    CHECK(in("horovod/torch/mpi_ops.py", "synchronize") == Business::collective);
    CHECK(in("jax/_src/array.py", "block_until_ready") == Business::collective);
    CHECK(in("numpy/core.py", "dot") == Business::other);
    CHECK(of({own}).business == Business::other);
    CHECK(of({}).business == Business::other);
}

TEST_CASE("a queue or a lock says what for by who uses it, and is a lock where nobody says so") {
    const wire::StackFrame wait{"wait", "/usr/lib/python3.11/threading.py", 320},
        get{"get", "/usr/lib/python3.11/queue.py", 180}, own{"main", "train.py", 4};
    CHECK(of({wait, get, {"_next_data", packages + "torch/utils/data/dataloader.py", 2}, own}).business ==
          Business::data);
    CHECK(of({wait, get, own}).business == Business::lock);
}

TEST_CASE("its place is the innermost frame of the user's own code") {
    const auto place = of({{"wait", "/usr/lib/python3.11/threading.py", 320},
                           {"all_reduce", packages + "torch/distributed/distributed_c10d.py", 2},
                           {"step", "/workspace/train.py", 9},
                           {"main", "/workspace/train.py", 20}});
    CHECK(place.frame == 2);
    CHECK(of({{"wait", "/usr/lib/python3.11/threading.py", 320}}).frame == 0);
    CHECK(of({{"f", "<string>", 1}}).frame == 0);
}

TEST_CASE("a data set of the user's own that a loader calls is data") {
    const auto place = of({{"__getitem__", "/workspace/data.py", 7},
                           {"fetch", packages + "torch/utils/data/_utils/fetch.py", 50},
                           {"__next__", packages + "torch/utils/data/dataloader.py", 600},
                           {"main", "/workspace/train.py", 20}});
    CHECK(place.business == Business::data);
    CHECK(place.frame == 0);
}

} // namespace place_test
