// Where the ranks of the stub libnccl.so.2 meet: a hub in rank 0's process, as the real one's bootstrap,
// whose address is in the unique id. Each rank sends it what it shows, and gets back what all have shown; the
// end of a rank's connection is its death.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace stub {

inline constexpr std::size_t piece = 256 * 1024; // bytes that a rank shows to the others at a time

struct OwnAddress {
    std::string interface = "lo";
    std::string address = "127.0.0.1";
};
OwnAddress own_address(); // of NCCL_SOCKET_IFNAME

// A thread that listens, waits for all ranks and serves them; "ADDRESS:PORT", or nothing.
std::string open_hub();

enum class Ended { no, peer_died, aborted };

class PeerWait {
public:
    PeerWait(const std::string& place, int rank, int ranks);
    ~PeerWait();
    PeerWait(const PeerWait&) = delete;
    PeerWait& operator=(const PeerWait&) = delete;

    // Until all ranks are here; then of() holds what each has shown: the first bytes of its own(). A rank
    // that died is an end, and so is abort().
    Ended wait(std::size_t shown = 0);
    void abort() { aborted_ = true; }
    bool aborted() const { return aborted_; }

    unsigned char* own() { return own_.data(); }
    const unsigned char* of(int rank) const { return pieces_[static_cast<std::size_t>(rank)].data(); }

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }

private:
    bool transfer(unsigned char* data, std::size_t bytes, bool out);

    int socket_ = -1;
    int rank_;
    int ranks_;
    std::atomic<bool> aborted_ = false;
    std::vector<unsigned char> own_;
    std::vector<std::vector<unsigned char>> pieces_;
};

} // namespace stub
