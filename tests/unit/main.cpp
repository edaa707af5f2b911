#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <csignal>

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN); // as every program of dockdist does: a reader that goes is an error
    return doctest::Context(argc, argv).run();
}
