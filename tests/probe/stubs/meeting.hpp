// Where the ranks of the stub libnccl.so.2 meet: a file that all of them map, whose name is in the unique id.
// Each holds a lock on a byte of it while it lives, so that the others notice its death.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stub {

inline constexpr int most_ranks = 16;
inline constexpr std::size_t piece = 256 * 1024; // bytes that a rank shows to the others at a time

struct Shared {
    std::atomic<int> arrived = 0;
    std::atomic<int> generation = 0;
    std::array<std::atomic<std::uint64_t>, most_ranks> counts{};
    std::array<std::array<unsigned char, piece>, most_ranks> pieces{};
};

enum class Ended { no, peer_died, aborted };

class Meeting {
public:
    Meeting(const std::string& path, int rank, int ranks);
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    // Until all ranks are here. A rank that died, once they have all met, is an end; so is abort().
    Ended wait();
    void abort() { aborted_ = true; }
    bool aborted() const { return aborted_; }

    unsigned char* own() { return shared_->pieces[static_cast<std::size_t>(rank_)].data(); }
    const unsigned char* of(int rank) const { return shared_->pieces[static_cast<std::size_t>(rank)].data(); }
    void set_count(std::uint64_t count) { shared_->counts[static_cast<std::size_t>(rank_)] = count; }
    std::uint64_t most() const; // of the counts of all

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }

private:
    bool somebody_died() const;

    int descriptor_;
    int rank_;
    int ranks_;
    bool met_ = false;
    std::atomic<bool> aborted_ = false;
    Shared* shared_;
};

} // namespace stub
