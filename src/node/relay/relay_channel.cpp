#include "node/relay/relay_channel.hpp"

#include "node/relay/relay_socket.hpp"

#include <algorithm>
#include <span>

namespace dockdist::node {
namespace {

// Of one that is there, and may be another time: worth a second try.
Error hung_up(const std::string& upstream) {
    return {ErrorKind::protocol, "", "the relay at " + upstream + " hung up", ""};
}

} // namespace

// --- who is asked ---

Status RelayAnswer::say(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto size = std::min(bytes.size(), largest_relay_message);
        if (auto sent = send(bytes.substr(0, size), false); !sent) {
            return sent;
        }
        bytes.remove_prefix(size);
    }
    return ok;
}

Status RelayAnswer::send(std::string_view message, bool last) {
    frame_.clear();
    writer_.seal(message, last, frame_);
    return send_all(connection_.get(), frame_, idle_ms_);
}

bool RelayStranger::greet(std::string& answer) {
    const auto hello = bytes_.substr(0, relay_hello_size);
    const auto asking = asking_in(hello);
    const auto key = asking ? keys_.find(*asking) : keys_.end();
    if (key == keys_.end()) {
        return false;
    }
    const auto random = relay_random();
    const auto keys = relay_stream_keys(key->second, hello, random);
    writer_.emplace(keys.asked);
    reader_.emplace(keys.asking, largest_relay_request);
    reader_->add(std::string_view(bytes_).substr(relay_hello_size));
    bytes_.clear();
    answer += random;
    return true;
}

Stranger::Verdict RelayStranger::hear(std::string_view bytes, std::string& answer) {
    if (reader_) {
        reader_->add(bytes);
    } else {
        bytes_ += bytes;
        if (bytes_.size() < relay_hello_size) {
            return Verdict::unknown;
        }
        if (!greet(answer)) {
            return Verdict::send_away;
        }
    }
    const auto message = reader_->next();
    if (!message) {
        return Verdict::send_away;
    }
    if (!*message) {
        return Verdict::unknown;
    }
    auto request = wire::parse_relay_request(**message);
    if (!request) {
        return Verdict::send_away;
    }
    request_ = std::move(*request);
    return Verdict::let_in;
}

// --- who asks ---

// A relay under a flood of strangers may send us away with them.
Result<RelayQuestion> RelayQuestion::ask(const wire::RelayPair& upstream, const wire::RelayRequest& request,
                                         RelayPatience patience) {
    constexpr int most_tries = 3;
    for (int tries = 1;; ++tries) {
        auto asked = ask_once(upstream, request, patience);
        if (asked || asked.error().kind != ErrorKind::protocol || tries == most_tries) {
            return asked;
        }
    }
}

Result<RelayQuestion> RelayQuestion::ask_once(const wire::RelayPair& upstream,
                                              const wire::RelayRequest& request, RelayPatience patience) {
    auto connection = connect_to(upstream.address);
    TRY(connection);
    const int fd = connection->get();
    const auto end_ms = monotonic_ms() + patience.greeting_ms;
    const auto hello = relay_hello(upstream.asking, relay_random());
    TRY(send_all(fd, hello, patience.greeting_ms));
    std::string random(relay_random_size, '\0');
    for (std::size_t have = 0; have < random.size();) {
        const auto count = receive(fd, std::span(random).subspan(have), end_ms - monotonic_ms());
        TRY(count);
        if (*count == 0) {
            return hung_up(upstream.address);
        }
        have += *count;
    }
    const auto keys = relay_stream_keys(relay_key(upstream.key), hello, random);
    std::string frame;
    SealedWriter(keys.asking).seal(wire::to_line(request), true, frame);
    TRY(send_all(fd, frame, patience.greeting_ms));
    RelayQuestion question(std::move(*connection), SealedReader(keys.asked, largest_relay_message),
                           patience.idle_ms);
    if (const auto first = question.next(end_ms); !first) {
        return first.error().kind == ErrorKind::timeout ? first.error() : hung_up(upstream.address);
    }
    return question;
}

// One message. With an end: by then; else as long as bytes move.
Result<std::string> RelayQuestion::next(std::int64_t end_ms) {
    while (true) {
        auto message = reader_.next();
        TRY(message);
        if (*message) {
            return std::move(**message);
        }
        const auto limit = end_ms == 0 ? idle_ms_ : end_ms - monotonic_ms();
        const auto count = receive(connection_.get(), buffer_, limit);
        TRY(count);
        if (*count == 0) {
            return Error{ErrorKind::unreachable, "", "a relay broke off", ""};
        }
        reader_.add({buffer_.data(), *count});
    }
}

Result<std::string> RelayQuestion::hear() {
    while (!reader_.ended()) {
        auto message = next(0);
        if (!message || !message->empty()) {
            return message;
        }
    }
    return std::string();
}

} // namespace dockdist::node
