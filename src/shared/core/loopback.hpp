// Which addresses and names never leave the machine.
#pragma once

#include <string_view>

namespace dockdist {

// 127.0.0.0/8, ::1 and ::ffff:127.0.0.0/104; localhost and whatever ends in .localhost (RFC 6761, section
// 6.3), in letters of any case, with or without the root's dot. No name is looked up.
bool is_loopback(std::string_view host);

} // namespace dockdist
