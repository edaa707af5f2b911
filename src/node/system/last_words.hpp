// The end of what a child process writes to its stderr, for the message when it fails.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"

#include <cstddef>
#include <string>

namespace dockdist::node {

class LastWords {
public:
    // Keeps the last `kept` bytes. The loop outlives this.
    LastWords(Loop& loop, std::size_t kept) : loop_(loop), kept_(kept) {}
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;
    ~LastWords() { stop(); }

    // Of a new child, which has the other end of `pipe`; an earlier one is forgotten, with what it said.
    void listen(Fd pipe);
    // What has been written and not yet read. For a child that has ended.
    void read_rest();

    const std::string& text() const { return text_; }

private:
    void read_some();
    void stop();

    Loop& loop_;
    std::size_t kept_;
    Fd pipe_{};
    std::string text_{};
};

} // namespace dockdist::node
