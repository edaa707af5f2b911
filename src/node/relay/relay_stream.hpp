// The encryption between two relays, by libsodium; no I/O.
//
//   who asks:     magic (16 bytes) | its number (4, big-endian) | 32 random bytes | stream
//   who is asked: 32 random bytes | stream
//   stream:       header of crypto_secretstream_xchacha20poly1305 (24) | frames
//   frame:        size of what follows (4, big-endian) | one sealed message
//
// Each direction has a key of its own: the two halves of BLAKE2b-512 over all that stands before the streams,
// keyed with the pair's key. So nothing that was recorded, on this connection, its other direction or any
// other, is taken; a message that is left out, repeated, moved or changed is an error, and so is an end
// without a last message. Who reads a message knows that the one with the key wrote it, for this connection.
#pragma once

#include "shared/core/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sodium.h>
#include <string>
#include <string_view>

namespace dockdist::node {

using RelayKey = std::array<unsigned char, 32>;

inline constexpr std::size_t relay_random_size = 32;
inline constexpr std::size_t relay_hello_size = 16 + 4 + relay_random_size;
inline constexpr std::size_t largest_relay_message = 256 * 1024;
inline constexpr std::size_t largest_relay_request = 1024;

// Of 64 hex digits.
RelayKey relay_key(std::string_view hex);
std::string relay_random();

std::string relay_hello(int asking, std::string_view random);
// The number in a hello; nothing when it is none. `hello` has relay_hello_size bytes.
std::optional<int> asking_in(std::string_view hello);

struct RelayStreamKeys {
    RelayKey asking{}, asked{}; // by who writes with it
};
RelayStreamKeys relay_stream_keys(const RelayKey& pair, std::string_view hello, std::string_view random);

class SealedWriter {
public:
    explicit SealedWriter(const RelayKey& key);
    // Behind `into`: a frame, with the stream's header before the first one. At most largest_relay_message.
    void seal(std::string_view message, bool last, std::string& into);

private:
    crypto_secretstream_xchacha20poly1305_state state_{};
    std::string header_{};
};

class SealedReader {
public:
    SealedReader(const RelayKey& key, std::size_t largest) : key_(key), largest_(largest) {}
    void add(std::string_view bytes) { bytes_.append(bytes); }
    // The next message; nothing: more bytes have to come, or the last one was there. Errors: protocol.
    Result<std::optional<std::string>> next();
    bool ended() const { return ended_; }

private:
    std::size_t left() const { return bytes_.size() - begin_; }

    RelayKey key_;
    std::size_t largest_; // message
    crypto_secretstream_xchacha20poly1305_state state_{};
    std::string bytes_{};
    std::size_t begin_ = 0; // of what is not read yet
    bool has_header_ = false, ended_ = false;
};

} // namespace dockdist::node
