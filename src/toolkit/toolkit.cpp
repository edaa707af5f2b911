#include "toolkit/toolkit.hpp"

#include <cstddef>

// DOCKDIST_TOOLKIT_TAR and DOCKDIST_TOOLKIT_VERSION_FILE come from CMakeLists.txt.
asm(R"(
    .section .rodata
    .balign 16
    .globl dockdist_toolkit_begin
dockdist_toolkit_begin:
    .incbin ")" DOCKDIST_TOOLKIT_TAR R"("
    .globl dockdist_toolkit_end
dockdist_toolkit_end:
    .globl dockdist_toolkit_version
dockdist_toolkit_version:
    .incbin ")" DOCKDIST_TOOLKIT_VERSION_FILE R"("
    .byte 0
    .text
)");

extern "C" {
extern const char dockdist_toolkit_begin[];
extern const char dockdist_toolkit_end[];
extern const char dockdist_toolkit_version[];
}

namespace dockdist {

std::span<const char> toolkit_tar() {
    return {dockdist_toolkit_begin, static_cast<std::size_t>(dockdist_toolkit_end - dockdist_toolkit_begin)};
}

std::string_view toolkit_version() {
    return {dockdist_toolkit_version, 12};
}

} // namespace dockdist
