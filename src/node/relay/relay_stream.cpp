#include "node/relay/relay_stream.hpp"

#include <algorithm>
#include <cstdlib>

namespace dockdist::node {
namespace {

constexpr std::string_view relay_magic = "dockdist-relay-1";
constexpr std::size_t number_size = 4;
constexpr std::size_t seal_size = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t header_size = crypto_secretstream_xchacha20poly1305_HEADERBYTES;

static_assert(relay_magic.size() + number_size + relay_random_size == relay_hello_size);
static_assert(sizeof(RelayKey) == crypto_secretstream_xchacha20poly1305_KEYBYTES);

// Chooses the fastest code for this processor; without randomness nothing may go on.
void begin_sodium() {
    static const int begun = ::sodium_init();
    if (begun < 0) {
        std::abort();
    }
}

unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::string number_bytes(std::uint32_t number) {
    std::string bytes;
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        bytes += static_cast<char>(number >> shift & 0xffU);
    }
    return bytes;
}

std::uint32_t number_in(std::string_view bytes) {
    std::uint32_t number = 0;
    for (const char byte : bytes.substr(0, number_size)) {
        number = number << 8U | static_cast<unsigned char>(byte);
    }
    return number;
}

// What libsodium refuses here would leave a key, or a message, of zeros.
void must(int result) {
    if (result != 0) {
        std::abort();
    }
}

Error not_sealed() {
    return {ErrorKind::protocol, "", "what came from a relay is not what it sent", ""};
}

} // namespace

RelayKey relay_key(std::string_view hex) {
    RelayKey key{};
    must(::sodium_hex2bin(key.data(), key.size(), hex.data(), hex.size(), nullptr, nullptr, nullptr));
    return key;
}

std::string relay_random() {
    begin_sodium();
    std::string random(relay_random_size, '\0');
    ::randombytes_buf(random.data(), random.size());
    return random;
}

std::string relay_hello(int asking, std::string_view random) {
    return std::string(relay_magic) + number_bytes(static_cast<std::uint32_t>(asking)) + std::string(random);
}

std::optional<int> asking_in(std::string_view hello) {
    if (!hello.starts_with(relay_magic)) {
        return std::nullopt;
    }
    return static_cast<int>(number_in(hello.substr(relay_magic.size())));
}

RelayStreamKeys relay_stream_keys(const RelayKey& pair, std::string_view hello, std::string_view random) {
    begin_sodium();
    std::array<unsigned char, 2 * sizeof(RelayKey)> both{};
    const auto said = std::string(hello) + std::string(random);
    must(::crypto_generichash(both.data(), both.size(), bytes_of(said), said.size(), pair.data(),
                              pair.size()));
    RelayStreamKeys keys;
    std::copy_n(both.begin(), keys.asking.size(), keys.asking.begin());
    std::copy_n(both.begin() + sizeof(RelayKey), keys.asked.size(), keys.asked.begin());
    return keys;
}

SealedWriter::SealedWriter(const RelayKey& key) : header_(header_size, '\0') {
    begin_sodium();
    must(::crypto_secretstream_xchacha20poly1305_init_push(&state_, bytes_of(header_), key.data()));
}

void SealedWriter::seal(std::string_view message, bool last, std::string& into) {
    into += header_;
    header_.clear();
    into += number_bytes(static_cast<std::uint32_t>(message.size() + seal_size));
    const auto at = into.size();
    into.resize(at + message.size() + seal_size);
    must(::crypto_secretstream_xchacha20poly1305_push(
        &state_, bytes_of(into) + at, nullptr, bytes_of(message), message.size(), nullptr, 0,
        last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0));
}

Result<std::optional<std::string>> SealedReader::next() {
    const std::string_view bytes(bytes_);
    if (!has_header_ && left() >= header_size) {
        if (::crypto_secretstream_xchacha20poly1305_init_pull(&state_, bytes_of(bytes), key_.data()) != 0) {
            return not_sealed();
        }
        begin_ = header_size;
        has_header_ = true;
    }
    if (ended_ || !has_header_ || left() < number_size) {
        return std::optional<std::string>();
    }
    const std::size_t size = number_in(bytes.substr(begin_));
    if (size < seal_size || size > largest_ + seal_size) {
        return not_sealed();
    }
    if (left() < number_size + size) {
        bytes_.erase(0, begin_);
        begin_ = 0;
        return std::optional<std::string>();
    }
    std::string message(size - seal_size, '\0');
    unsigned char tag = 0;
    if (::crypto_secretstream_xchacha20poly1305_pull(&state_, bytes_of(message), nullptr, &tag,
                                                     bytes_of(bytes.substr(begin_ + number_size)), size,
                                                     nullptr, 0) != 0) {
        return not_sealed();
    }
    ended_ = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
    begin_ += number_size + size;
    return std::optional(std::move(message));
}

} // namespace dockdist::node
