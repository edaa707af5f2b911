// What a Python thread is busy with, told by the functions of well-known libraries that it stands in. Pure.
//
// Sources: torch 2.6 to 2.15 (torch/distributed/distributed_c10d.py, rendezvous.py, c10d_logger.py;
// torch/nn/parallel/distributed.py; torch/utils/data/dataloader.py; torch/serialization.py;
// torch/autograd/graph.py), jax 0.4 (jax/_src/array.py, distributed.py), Horovod 0.28 (horovod/*/mpi_ops.py),
// and Python's own library.
#pragma once

#include "shared/wire/stacks.hpp"

#include <cstddef>
#include <string>

namespace dockdist {

enum class Business {
    collective, // waits for other ranks in a collective, a barrier, a send or a receive
    rendezvous, // waits for other ranks to come, or for their store
    backward,   // in autograd, where gradients are summed meanwhile
    data,       // gets its next batch
    storage,    // reads or writes files
    compile,    // imports, or compiles kernels
    debugger,   // in a debugger's own code
    lock,       // waits for another thread, or for time to pass
    other       // the user's own code, or none that is known
};

struct CodePlace {
    Business business = Business::other;
    // The innermost frame of the user's own code, else the innermost one at all: its place in the thread.
    // Beyond the end: there is none.
    std::size_t frame = 0;
};
CodePlace place_of(const wire::ThreadStack& thread);

// "wait_for_others (train.py:12)".
std::string frame_text(const wire::StackFrame& frame);
// "loads data", "writes or reads files"; what goes on with `rank 3 `.
std::string business_text(Business business);

} // namespace dockdist
