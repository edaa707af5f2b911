// Where connections come in and show that they may: one thread for all that have not yet, in a number that
// stays small, for a time that stays short. Nothing that strangers do ends it.
#pragma once

#include "node/system/loop.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace dockdist::node {

// What one connection has said so far.
class Stranger {
public:
    enum class Verdict { unknown, let_in, send_away };

    Stranger() = default;
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;
    virtual ~Stranger() = default;

    // Takes what came; what it is answered goes behind `answer`. Who is sent away with an answer hears it to
    // the end.
    virtual Verdict hear(std::string_view bytes, std::string& answer) = 0;
};

struct AdmissionLimits {
    std::size_t strangers = 64; // at once; one more, and the oldest goes: who may come in needs no longer
                                // than a few others take to come
    std::int64_t greeting_ms = 10'000;  // from the connection to being let in
    std::int64_t accept_pause_ms = 100; // when the system has no descriptor for a connection
};

class RelayAdmission {
public:
    using Meet = std::function<std::unique_ptr<Stranger>()>;
    using LetIn = std::function<void(Fd, std::unique_ptr<Stranger>)>;

    // `listener` does not block. The loop outlives this; `let_in` is called in it and must not block.
    RelayAdmission(Loop& loop, Fd listener, AdmissionLimits limits, Meet meet, LetIn let_in);
    RelayAdmission(const RelayAdmission&) = delete;
    RelayAdmission& operator=(const RelayAdmission&) = delete;
    ~RelayAdmission();

    std::size_t strangers() const { return waiting_.size(); }

private:
    struct Waiting {
        Fd connection{};
        std::unique_ptr<Stranger> stranger{};
        Loop::Timer limit = 0;
        bool leaving = false; // has been answered for the last time
    };
    using Place = std::list<Waiting>::iterator;

    void accept_one();
    void pause();
    void hear(Place place);
    void drop(Place place);
    bool drop_one();

    Loop& loop_;
    Fd listener_;
    AdmissionLimits limits_;
    Meet meet_;
    LetIn let_in_;
    std::list<Waiting> waiting_{}; // the oldest first
    Loop::Timer paused_ = 0;
};

} // namespace dockdist::node
