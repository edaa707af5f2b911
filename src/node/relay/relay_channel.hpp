// Two relays on an encrypted connection: who asks and who is asked.
#pragma once

#include "node/relay/relay_admission.hpp"
#include "node/relay/relay_stream.hpp"
#include "shared/wire/relay.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

struct RelayPatience {
    std::int64_t greeting_ms = 10'000; // for the first message of who is asked
    std::int64_t idle_ms = 60'000;     // within which a byte moves, however few
    std::int64_t beat_ms = 10'000;     // who is asked and has nothing to say says so as often
};

// The connection of who is asked: says messages, of any size, and beats.
class RelayAnswer {
public:
    RelayAnswer(Fd connection, SealedWriter writer, std::int64_t idle_ms)
        : connection_(std::move(connection)), writer_(std::move(writer)), idle_ms_(idle_ms) {}

    Status say(std::string_view bytes);
    Status beat() { return send("", false); }
    Status finish() { return send("", true); } // without it, what was said is taken for cut off

private:
    Status send(std::string_view message, bool last);

    Fd connection_;
    SealedWriter writer_;
    std::int64_t idle_ms_;
    std::string frame_{};
};

// A connection that wants to be another relay's: until a request comes that was sealed with the pair's key.
class RelayStranger : public Stranger {
public:
    using Keys = std::map<int, RelayKey>; // by the number of who asks
    explicit RelayStranger(const Keys& keys) : keys_(keys) {}
    Verdict hear(std::string_view bytes, std::string& answer) override;
    // Once it is let in; the writer once.
    const wire::RelayRequest& request() const { return request_; }
    SealedWriter take_writer() { return std::move(*writer_); }

private:
    bool greet(std::string& answer);

    const Keys& keys_;
    std::string bytes_{};
    std::optional<SealedReader> reader_{};
    std::optional<SealedWriter> writer_{};
    wire::RelayRequest request_{};
};

// The connection of who asks. It begins with a message that shows that the right one was asked.
class RelayQuestion {
public:
    // Errors: unreachable, timeout, protocol (who is there hangs up, or has not the pair's key).
    static Result<RelayQuestion> ask(const wire::RelayPair& upstream, const wire::RelayRequest& request,
                                     RelayPatience patience);
    // What was said next, some bytes; "" at the end that was meant. Errors: unreachable (it broke), timeout
    // (nothing moved), protocol.
    Result<std::string> hear();

private:
    RelayQuestion(Fd connection, SealedReader reader, std::int64_t idle_ms)
        : connection_(std::move(connection)), reader_(std::move(reader)), idle_ms_(idle_ms) {}
    Result<std::string> next(std::int64_t end_ms);

    static Result<RelayQuestion> ask_once(const wire::RelayPair& upstream, const wire::RelayRequest& request,
                                          RelayPatience patience);

    Fd connection_;
    SealedReader reader_;
    std::int64_t idle_ms_;
    std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

} // namespace dockdist::node
