// `dockdist-init tunnel ASK`, for unit tests: they have no static dockdist-init.
#include "node/tunnel/tunnel_session.hpp"

int main(int argc, char** argv) {
    return argc == 3 ? dockdist::node::run_tunnel(argv[2]) : 2;
}
