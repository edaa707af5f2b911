// dockdist-relay: what of dockdist-init a relay needs, as a program of its own. A client that brings an image
// or a tree has to give it to every host first, so its size counts.
#include "node/relay/relay_command.hpp"
#include "node/sync/sync_command.hpp"
#include "node/system/os.hpp"

#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
    using namespace dockdist::node;
    try {
        const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
        if (!arguments.empty() && arguments.front() == "relay") {
            return run_relay({arguments.begin() + 1, arguments.end()});
        }
        if (arguments.size() == 2 && arguments.front() == "sync") {
            return run_sync(arguments.back());
        }
        (void)write_all(STDERR_FILENO, "dockdist-relay: see dockdist-init's relay and sync\n");
        return 2;
    } catch (const std::exception& error) {
        (void)write_all(STDERR_FILENO, std::string("dockdist-relay: ") + error.what() + "\n");
        return 70;
    }
}
