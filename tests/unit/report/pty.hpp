// A real pseudo-terminal. What the program writes to terminal() is read back with read(), which waits for a
// mark that it sends itself and so needs no time-out.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <pty.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dockdist::test {

class Pty {
public:
    Pty(std::size_t columns, std::size_t rows) {
        REQUIRE(::openpty(&master_, &slave_, nullptr, nullptr, nullptr) == 0);
        resize(columns, rows);
    }
    Pty(const Pty&) = delete;
    Pty& operator=(const Pty&) = delete;
    ~Pty() {
        ::close(slave_);
        ::close(master_);
    }

    int terminal() const { return slave_; }

    void resize(std::size_t columns, std::size_t rows) const {
        winsize size{};
        size.ws_col = static_cast<unsigned short>(columns);
        size.ws_row = static_cast<unsigned short>(rows);
        REQUIRE(::ioctl(slave_, TIOCSWINSZ, &size) == 0);
    }

    std::string read() const {
        constexpr char mark = '\x05';
        REQUIRE(::write(slave_, &mark, 1) == 1);
        std::string bytes;
        while (bytes.empty() || bytes.back() != mark) {
            std::array<char, 4096> part{};
            const auto count = ::read(master_, part.data(), part.size());
            REQUIRE(count > 0);
            bytes.append(part.data(), static_cast<std::size_t>(count));
        }
        bytes.pop_back();
        return bytes;
    }

private:
    int master_ = -1, slave_ = -1;
};

} // namespace dockdist::test
