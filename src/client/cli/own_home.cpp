#include "client/cli/own_home.hpp"

#include "shared/core/account.hpp"

#include <cstdlib>

namespace dockdist {
namespace {

bool& said() {
    static bool was = true;
    return was;
}

} // namespace

void complete_home() {
    const char* const home = std::getenv("HOME");
    said() = home != nullptr && *home != '\0';
    if (!said()) {
        const auto accounts = own_account().home;
        ::setenv("HOME", accounts.starts_with('/') ? accounts.c_str() : "/", 1);
    }
}

bool home_was_said() {
    return said();
}

} // namespace dockdist
