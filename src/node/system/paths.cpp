#include "node/system/paths.hpp"

#ifdef DOCKDIST_UNDER_TEST
#include <cstdlib>
#endif

namespace dockdist::node {

std::string under_root(const char* path) {
#ifdef DOCKDIST_UNDER_TEST
    if (const char* root = std::getenv("DOCKDIST_TEST_ROOT")) {
        return std::string(root) + path;
    }
#endif
    return path;
}

std::string shared_gpus() {
#ifdef DOCKDIST_UNDER_TEST
    if (const char* shared = std::getenv("DOCKDIST_TEST_GPUS")) {
        return shared;
    }
#endif
    return under_root(layout::gpus);
}

const Paths& paths() {
#ifdef DOCKDIST_UNDER_TEST
    static Paths instance;
    instance = Paths(); // a test may have changed the root
#else
    static const Paths instance;
#endif
    return instance;
}

} // namespace dockdist::node
