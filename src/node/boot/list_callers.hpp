// Those who bring the list of members to a node, a few at a time, each with the whole text until its end.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace dockdist::node {

class ListCallers {
public:
    // The text must have this digest. `on_end`: one has brought it and was told so; or something else, "".
    ListCallers(Loop& loop, std::string sha256, std::function<void(std::string text)> on_end)
        : loop_(loop), sha256_(std::move(sha256)), on_end_(std::move(on_end)) {}
    ~ListCallers();
    ListCallers(const ListCallers&) = delete;
    ListCallers& operator=(const ListCallers&) = delete;

    // Neither blocks. Answers go to `to`, or where it is not open, to `from` itself.
    void let_in(Fd from, Fd to = {});

private:
    struct One {
        Fd from{}, to{};
        std::string text{};
    };
    void hear(int number);

    Loop& loop_;
    std::string sha256_;
    std::function<void(std::string text)> on_end_;
    std::map<int, One> callers_{}; // by what is read
};

// Keeps a socket that strangers can reach, and lets in nobody but its own user, in a process of its own: with
// what they say come descriptors, of which the close may take for ever (node/system/fifo_door.hpp), also
// where nobody has let them in.
class Porter {
public:
    explicit Porter(Fd listener);
    ~Porter();
    Porter(const Porter&) = delete;
    Porter& operator=(const Porter&) = delete;

    // Lets in who brings the list, from now on; as ListCallers. The loop outlives this.
    void hear(Loop& loop, const std::string& sha256, std::function<void(std::string text)> on_end);

private:
    void hear();

    Loop* loop_ = nullptr;
    std::function<void(std::string text)> on_end_{};
    pid_t child_ = -1; // below 0: there is none
    Fd to_child_{}, from_child_{};
    std::string heard_{};
};

} // namespace dockdist::node
