// What a sync says to the client: gathered, and written when enough has come together.
#pragma once

#include "node/system/os.hpp"
#include "shared/wire/tree.hpp"

#include <string>

namespace dockdist::node {

class SyncOutput {
public:
    explicit SyncOutput(int fd) : fd_(fd) {}

    void send(const wire::SyncMessage& message) {
        wire::append(buffer_, message);
        flush_above(limit);
    }
    void send_data(std::string_view bytes) {
        wire::append_data(buffer_, bytes);
        flush_above(limit);
    }
    void problem(const std::string& name, const Error& error, std::uint64_t flags = 0) {
        ++problems_;
        if (problems_ <= most_problems || flags != 0) {
            send({.kind = wire::SyncMessage::Kind::problem,
                  .size = flags,
                  .name = name,
                  .text = error.message + "\n" + error.hint});
        }
    }
    void done() {
        send({.kind = wire::SyncMessage::Kind::done, .size = problems_});
        problems_ = 0;
        flush_above(0);
    }
    bool failed() const { return failed_; } // nobody reads any more

private:
    static constexpr std::size_t limit = 256U << 10U;
    static constexpr std::size_t most_problems = 50; // the rest is counted

    void flush_above(std::size_t size) {
        if (buffer_.size() > size) {
            failed_ = failed_ || !write_all(fd_, buffer_);
            buffer_.clear();
        }
    }

    int fd_;
    std::string buffer_{};
    std::size_t problems_ = 0;
    bool failed_ = false;
};

} // namespace dockdist::node
