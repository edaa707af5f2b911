#include "probe/stubs/meeting.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stub {

Meeting::Meeting(const std::string& path, int rank, int ranks)
    : descriptor_(open(path.c_str(), O_RDWR | O_CLOEXEC)), rank_(rank), ranks_(ranks) {
    (void)!ftruncate(descriptor_, sizeof(Shared));
    shared_ = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0));
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_start = rank;
    lock.l_len = 1;
    (void)fcntl(descriptor_, F_SETLK, &lock);
}

Meeting::~Meeting() {
    munmap(shared_, sizeof(Shared));
    close(descriptor_);
}

bool Meeting::somebody_died() const {
    for (int rank = 0; rank < ranks_; ++rank) {
        struct flock lock{};
        lock.l_type = F_WRLCK;
        lock.l_start = rank;
        lock.l_len = 1;
        if (rank != rank_ && fcntl(descriptor_, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK) {
            return true;
        }
    }
    return false;
}

Ended Meeting::wait() {
    const int generation = shared_->generation;
    if (++shared_->arrived == ranks_) {
        shared_->arrived = 0;
        ++shared_->generation;
    }
    for (int turn = 0; shared_->generation == generation; ++turn) {
        if (aborted_) {
            return Ended::aborted;
        }
        if (met_ && turn % 256 == 255 && somebody_died() && shared_->generation == generation) {
            return Ended::peer_died;
        }
        sched_yield();
    }
    met_ = true;
    return Ended::no;
}

std::uint64_t Meeting::most() const {
    std::uint64_t most = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
        most = std::max(most, shared_->counts[static_cast<std::size_t>(rank)].load());
    }
    return most;
}

} // namespace stub
