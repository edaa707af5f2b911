// What each keyword of the user's ssh configuration, as `ssh -G` prints it, means for a connection that
// dockdist makes itself. One table; pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace dockdist {

enum class SshKeyword : std::uint8_t {
    obeyed,  // settings.cpp reads it
    idle,    // it changes neither which machine is reached, nor what is trusted, nor who logs in
    beyond,  // only ssh itself can do it, unless its value switches it off
    unknown, // of an ssh that is newer than the table
};

// `name` in lower case.
SshKeyword ssh_keyword(std::string_view name);

// Whether `value` asks for nothing.
bool switches_off(std::string_view value);

} // namespace dockdist
