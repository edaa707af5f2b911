#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <csignal>

// What the sanitizers ask a program for at its start, so that it is tested alike by ctest and by hand.
extern "C" const char* __asan_default_options() {
    return "detect_stack_use_after_return=1:strict_string_checks=1";
}
extern "C" const char* __ubsan_default_options() {
    return "print_stacktrace=1";
}

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN); // as every program of dockdist does: a reader that goes is an error
    return doctest::Context(argc, argv).run();
}
