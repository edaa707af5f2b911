// A libnccl.so.2 that computes real sums across processes, which meet over TCP (meeting.hpp).
//
// NCCL_SOCKET_IFNAME     the interface on which the ranks meet; without it, loopback
// DOCKDIST_STUB_RDMA     a device of which the log says that NET/IB has found it: "mlx5_0:1/RoCE"
// DOCKDIST_STUB_VIA      what the log says the connections run over: "NET/IB/0/GDRDMA"; else NET/Socket/0
// DOCKDIST_STUB_FAULT    what this rank does wrong, WHAT=OPERATION[:INDEX]:
//   corrupt=all_reduce:17  one is added to element 17 of its results; lose=…:17 element 17 is never written;
//   late=…:17 not from the second operation on;
//   swap=all_gather        the halves of its results change places; hang=…, die=… in the operation;
//   slow=all_reduce:50     the operation takes 50 ms more;
//   fail=init, hang=init (an init that does not come back, whatever is set), refuse=all_reduce (the call
//   fails)
//
// STUB_VERSION: before 21400 nothing is non-blocking; before 20700 there are no ncclSend and ncclRecv.
#include "probe/stubs/cuda.hpp"
#include "probe/stubs/elements.hpp"
#include "probe/stubs/meeting.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using stub::add;
using stub::Ended;
using stub::fault_in;
using stub::PeerWait;
using stub::piece;
using stub::size_of;
using stub::spoil;

struct UniqueId {
    char bytes[128];
};

struct Comm {
    std::unique_ptr<PeerWait> meeting{};
    std::atomic<int> state = 0; // ncclResult_t
};

struct Transfer {
    bool sends = false;
    unsigned char* buffer = nullptr;
    std::size_t bytes = 0;
    int peer = 0;
};

int group_depth = 0;
std::vector<Transfer> group;
Comm* group_comm = nullptr;
void* group_stream = nullptr;

void hang(const Comm& comm) {
    while (!comm.meeting->aborted()) {
        usleep(1000);
    }
}

// False where the operation is over for this rank: it then hangs, as NCCL's kernels do, until it is aborted.
bool meet(Comm& comm, std::size_t shown = 0) {
    const auto ended = comm.meeting->wait(shown);
    if (ended == Ended::peer_died) {
        comm.state = 6; // ncclRemoteError
        hang(comm);
    }
    return ended == Ended::no;
}

// Shows `bytes` from `data` to the others, piece by piece; `take` is called for each piece when all have
// shown theirs.
template <class Take>
bool show(Comm& comm, const unsigned char* data, std::size_t bytes, std::size_t steps, Take take) {
    for (std::size_t step = 0; step < steps; ++step) {
        const auto offset = step * piece;
        const auto own = data == nullptr || offset >= bytes ? 0 : std::min(piece, bytes - offset);
        if (own != 0) {
            std::memcpy(comm.meeting->own(), data + offset, own);
        }
        if (!meet(comm, own)) {
            return false;
        }
        take(offset);
    }
    return true;
}

std::size_t steps_for(std::size_t bytes) {
    return (bytes + piece - 1) / piece;
}

// Puts an operation on the stream: `body` does it, `result` is what it writes.
template <class Body>
int enqueue(Comm* comm, void* stream, const char* name, void* result, std::size_t result_bytes, int type,
            Body body) {
    auto fault = fault_in(name);
    if (fault.what == "late") {
        static int calls = 0;
        fault.what = calls++ == 0 ? "" : "lose";
    }
    if (fault.what == "refuse") {
        return 5; // ncclInvalidUsage
    }
    auto* bytes = static_cast<unsigned char*>(result);
    stub_enqueue(stream, [=] {
        if (fault.what == "hang") {
            hang(*comm);
            return;
        }
        if (fault.what == "die") {
            _exit(9);
        }
        if (fault.what == "slow") {
            usleep(static_cast<useconds_t>(fault.index * 1000));
        }
        std::vector<unsigned char> before;
        if (fault.what == "lose") {
            before.assign(bytes, bytes + result_bytes);
        }
        if (body() && !fault.what.empty()) {
            spoil(fault, std::move(before), bytes, result_bytes, type);
        }
    });
    return 0;
}

void say(int rank, int ranks) {
    const auto* path = std::getenv("NCCL_DEBUG_FILE");
    auto* file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) {
        return;
    }
    std::fprintf(file, "NCCL version 2.21.5+cuda12.4\n");
    const auto* device = std::getenv("DOCKDIST_STUB_RDMA");
    const auto* set = std::getenv("DOCKDIST_STUB_VIA");
    const auto* via = set == nullptr ? "NET/Socket/0" : set;
    const auto meets = stub::own_address();
    if (device == nullptr) {
        std::fprintf(file, "stub:1:2 [0] NCCL INFO NET/IB : No device found.\n");
    } else {
        std::fprintf(file, "stub:1:2 [0] NCCL INFO NET/IB : Using [0]%s [RO]; OOB %s:%s<0>\n", device,
                     meets.interface.c_str(), meets.address.c_str());
    }
    std::fprintf(file, "stub:1:2 [0] NCCL INFO NET/Socket : Using [0]%s:%s<0>\n", meets.interface.c_str(),
                 meets.address.c_str());
    std::fprintf(file, "stub:1:2 [0] NCCL INFO Using network %s\n",
                 std::strncmp(via, "NET/IB", 6) == 0 ? "IB" : "Socket");
    if (ranks > 1) {
        std::fprintf(file, "stub:1:2 [0] NCCL INFO Channel 00/0 : %d[0] -> %d[0] [send] via %s\n", rank,
                     (rank + 1) % ranks, via);
        std::fprintf(file, "stub:1:2 [0] NCCL INFO Channel 00/0 : %d[0] -> %d[0] [receive] via %s\n",
                     (rank + ranks - 1) % ranks, rank, via);
    }
    std::fclose(file);
}

int wait_for_all_peers(Comm* comm, int ranks, const UniqueId& id, int rank) {
    const auto fault = fault_in("init");
    while (fault.what == "hang") {
        pause();
    }
    if (fault.what == "fail") {
        return 2; // ncclSystemError
    }
    comm->meeting = std::make_unique<PeerWait>(id.bytes, rank, ranks);
    say(rank, ranks);
    return comm->meeting->wait() == Ended::no ? 0 : 3;
}

bool run_group(Comm& comm, const std::vector<Transfer>& transfers) {
    const int rank = comm.meeting->rank();
    const int ranks = comm.meeting->ranks();
    for (int shift = 0; shift < ranks; ++shift) {
        Transfer out;
        Transfer in;
        for (const auto& transfer : transfers) {
            if (transfer.sends && transfer.peer == (rank + shift) % ranks) {
                out = transfer;
            } else if (!transfer.sends && transfer.peer == (rank + ranks - shift) % ranks) {
                in = transfer;
            }
        }
        const auto own = steps_for(out.bytes);
        std::memcpy(comm.meeting->own(), &own, sizeof own);
        if (!meet(comm, sizeof own)) {
            return false;
        }
        std::size_t steps = 0;
        for (int other = 0; other < ranks; ++other) {
            std::size_t theirs = 0;
            std::memcpy(&theirs, comm.meeting->of(other), sizeof theirs);
            steps = std::max(steps, theirs);
        }
        const auto take = [&](std::size_t offset) {
            if (offset < in.bytes) {
                std::memcpy(in.buffer + offset, comm.meeting->of(in.peer),
                            std::min(piece, in.bytes - offset));
            }
        };
        if (!show(comm, out.buffer, out.bytes, steps, take)) {
            return false;
        }
    }
    return true;
}

} // namespace

extern "C" {

int ncclGetVersion(int* version) {
    *version = STUB_VERSION;
    std::printf("the stub's word on stdout\n"); // where no library's words may come between the lines
    std::fflush(stdout);
    return 0;
}

const char* ncclGetErrorString(int code) {
    return code == 6   ? "remote process exited or there was a network error"
           : code == 2 ? "unhandled system error"
                       : "error";
}

int ncclGetUniqueId(UniqueId* id) {
    std::memset(id->bytes, 0xfe, sizeof id->bytes); // as the real one, no text
    const auto place = stub::open_hub();
    std::memcpy(id->bytes, place.c_str(), place.size() + 1);
    return place.empty() ? 2 : 0;
}

int ncclCommInitRank(Comm** comm, int ranks, UniqueId id, int rank) {
    *comm = new Comm;
    return wait_for_all_peers(*comm, ranks, id, rank);
}

int ncclCommDestroy(Comm* comm) {
    delete comm;
    return 0;
}

int ncclCommAbort(Comm* comm) {
    if (comm->meeting) {
        comm->meeting->abort();
    }
    return 0;
}

int ncclCommGetAsyncError(Comm* comm, int* code) {
    *code = comm->state;
    return 0;
}

#if STUB_VERSION >= 21400
int ncclCommInitRankConfig(Comm** comm, int ranks, UniqueId id, int rank, const void* config) {
    unsigned magic = 0;
    std::memcpy(&magic, static_cast<const char*>(config) + sizeof(std::size_t), sizeof magic);
    if (magic != 0xcafebeef) {
        return 4;
    }
    auto* made = new Comm;
    made->state = 7; // ncclInProgress
    std::thread([=] { made->state = wait_for_all_peers(made, ranks, id, rank); }).detach();
    *comm = made;
    return 7;
}

int ncclCommFinalize(Comm* comm) {
    comm->state = 7;
    std::thread([=] { comm->state = comm->meeting->wait() == Ended::no ? 0 : 6; }).detach();
    return 7;
}

const char* ncclGetLastError(Comm*) {
    return "the stub's own words";
}
#endif

int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int reduction, Comm* comm,
                  void* stream) {
    const auto bytes = count * size_of(type);
    const auto* from = static_cast<const unsigned char*>(send);
    auto* to = static_cast<unsigned char*>(receive);
    return enqueue(comm, stream, type == 4 ? "agree" : "all_reduce", receive, bytes, type, [=] {
        return show(*comm, from, bytes, steps_for(bytes), [&](std::size_t offset) {
            const auto part = std::min(piece, bytes - offset);
            std::memcpy(to + offset, comm->meeting->of(0), part);
            for (int rank = 1; rank < comm->meeting->ranks(); ++rank) {
                add(to + offset, comm->meeting->of(rank), part, type, reduction == 3);
            }
        });
    });
}

int ncclAllGather(const void* send, void* receive, std::size_t count, int type, Comm* comm, void* stream) {
    const auto bytes = count * size_of(type);
    const auto* from = static_cast<const unsigned char*>(send);
    auto* to = static_cast<unsigned char*>(receive);
    const auto ranks = static_cast<std::size_t>(comm->meeting->ranks());
    return enqueue(comm, stream, "all_gather", receive, bytes * ranks, type, [=] {
        return show(*comm, from, bytes, steps_for(bytes), [&](std::size_t offset) {
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                std::memcpy(to + rank * bytes + offset, comm->meeting->of(static_cast<int>(rank)),
                            std::min(piece, bytes - offset));
            }
        });
    });
}

int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int, Comm* comm,
                      void* stream) {
    const auto bytes = count * size_of(type);
    const auto* from = static_cast<const unsigned char*>(send);
    auto* to = static_cast<unsigned char*>(receive);
    return enqueue(comm, stream, "reduce_scatter", receive, bytes, type, [=] {
        for (int owner = 0; owner < comm->meeting->ranks(); ++owner) {
            const auto done =
                show(*comm, from + static_cast<std::size_t>(owner) * bytes, bytes, steps_for(bytes),
                     [&](std::size_t offset) {
                         const auto part = std::min(piece, bytes - offset);
                         for (int rank = 0; owner == comm->meeting->rank() && rank < comm->meeting->ranks();
                              ++rank) {
                             if (rank == 0) {
                                 std::memcpy(to + offset, comm->meeting->of(0), part);
                             } else {
                                 add(to + offset, comm->meeting->of(rank), part, type, false);
                             }
                         }
                     });
            if (!done) {
                return false;
            }
        }
        return true;
    });
}

int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root, Comm* comm,
                  void* stream) {
    const auto bytes = count * size_of(type);
    const auto* from = static_cast<const unsigned char*>(send);
    auto* to = static_cast<unsigned char*>(receive);
    return enqueue(comm, stream, "broadcast", receive, bytes, type, [=] {
        return show(*comm, from, bytes, steps_for(bytes), [&](std::size_t offset) {
            std::memcpy(to + offset, comm->meeting->of(root), std::min(piece, bytes - offset));
        });
    });
}

int ncclGroupStart() {
    ++group_depth;
    return 0;
}

int ncclGroupEnd() {
    if (--group_depth > 0 || group.empty()) {
        return 0;
    }
    auto* comm = group_comm;
    unsigned char* result = nullptr;
    std::size_t bytes = 0;
    for (const auto& transfer : group) {
        if (!transfer.sends) {
            result = result == nullptr ? transfer.buffer : result;
            bytes += transfer.bytes;
        }
    }
    return enqueue(comm, group_stream, group.size() > 2 ? "all_to_all" : "send_receive", result, bytes, 7,
                   [comm, transfers = std::exchange(group, {})] { return run_group(*comm, transfers); });
}

#if STUB_VERSION >= 20700
int ncclSend(const void* buffer, std::size_t count, int type, int peer, Comm* comm, void* stream) {
    group_comm = comm;
    group_stream = stream;
    auto* bytes = const_cast<unsigned char*>(static_cast<const unsigned char*>(buffer));
    group.push_back({.sends = true, .buffer = bytes, .bytes = count * size_of(type), .peer = peer});
    return 0;
}

int ncclRecv(void* buffer, std::size_t count, int type, int peer, Comm* comm, void* stream) {
    group_comm = comm;
    group_stream = stream;
    group.push_back(
        {.buffer = static_cast<unsigned char*>(buffer), .bytes = count * size_of(type), .peer = peer});
    return 0;
}
#endif

} // extern "C"
