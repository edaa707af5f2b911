#include "shared/core/account.hpp"

#include <cstdlib>
#include <pwd.h>
#include <unistd.h>

namespace dockdist {
namespace {

std::string variable_or(const char* name, const std::string& other) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : other;
}

} // namespace

OwnAccount own_account() {
    if (const passwd* found = ::getpwuid(::geteuid())) {
        return {.name = found->pw_name, .home = found->pw_dir};
    }
    return {.name = variable_or("LOGNAME", variable_or("USER", "")), .home = variable_or("HOME", "")};
}

} // namespace dockdist
