#include "client/cli/looking/full_screen.hpp"

#include <csignal>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr const char* enter_screen = "\x1b[?1049h\x1b[?25l";
constexpr const char* leave_screen = "\x1b[?25h\x1b[?1049l";

bool in_background() {
    const auto foreground = ::tcgetpgrp(STDOUT_FILENO); // -1: no terminal that jobs share
    return foreground >= 0 && foreground != ::getpgrp();
}

} // namespace

FullScreen::FullScreen() {
    while (in_background()) {
        ::raise(SIGSTOP);
    }
    write(enter_screen);
}

FullScreen::~FullScreen() {
    write(leave_screen);
}

void FullScreen::suspend() {
    write(leave_screen);
    do {
        ::raise(SIGSTOP);
    } while (in_background());
    write(enter_screen);
    size_ = {.columns = 0, .rows = 0};
}

void FullScreen::draw(const std::vector<std::string>& lines, TerminalSize size) {
    std::string bytes;
    if (size.columns != size_.columns || size.rows != size_.rows) {
        bytes = "\x1b[H\x1b[J";
        shown_.clear();
        size_ = size;
    }
    for (std::size_t i = 0; i < lines.size() || i < shown_.size(); ++i) {
        const auto line = i < lines.size() ? lines[i] : std::string();
        if (i >= shown_.size() || shown_[i] != line) {
            bytes += "\x1b[" + std::to_string(i + 1) + ";1H";
            bytes += Displayable::drawn(line).bytes();
            bytes += "\x1b[K";
        }
    }
    shown_ = lines;
    if (!bytes.empty()) {
        write(bytes);
    }
}

// Sequences that nothing but this draws with, and lines that were made safe.
void FullScreen::write(const std::string& bytes) {
    sink_.write(STDOUT_FILENO, Displayable::raw(bytes));
}

} // namespace dockdist
