// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>
#include <utility>

namespace dockdist {

class Fd {
public:
    Fd() = default;
    explicit Fd(int number) : number_(number) {}
    Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) {
            reset();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }

    int get() const { return number_; }
    bool open() const { return number_ >= 0; }
    int release() { return std::exchange(number_, -1); }
    void reset() {
        if (number_ >= 0) {
            ::close(number_);
            number_ = -1;
        }
    }

private:
    int number_ = -1;
};

} // namespace dockdist
