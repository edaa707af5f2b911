// Tar archives of the form "ustar" (IEEE Std 1003.1, pax, "ustar Interchange Format"), as GNU tar writes them
// with --format=ustar --blocking-factor=1 --mtime=@0 --numeric-owner: whoever knows the entries makes the
// same bytes.
#pragma once

#include <cstdint>
#include <string>

namespace dockdist {

struct UstarEntry {
    enum class Type { file, link, folder };
    Type type = Type::file;
    std::string name{}; // less than longest_ustar_name
    std::string link{}; // where a link leads; the same
    std::uint32_t mode = 0;
    std::uint32_t owner = 0; // user and group
    std::int64_t size = 0;   // bytes of a file; from 8 GiB on it is told as GNU tar tells it
};
inline constexpr std::size_t longest_ustar_name = 99;

std::string ustar_header(const UstarEntry& entry);  // before its content
std::string ustar_padding(const UstarEntry& entry); // behind it
std::string ustar_end();                            // behind the last one

} // namespace dockdist
