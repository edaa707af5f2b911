// The variables by which programs are told of proxies. Some programs read them in capitals, some in small
// letters: both are set, as docker does it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

inline constexpr std::array<std::string_view, 4> proxy_variables{"http_proxy", "https_proxy", "ftp_proxy",
                                                                 "all_proxy"};
inline constexpr std::string_view no_proxy_variable = "no_proxy";
inline constexpr std::array<std::string_view, 3> own_machine{"localhost", "127.0.0.1", "::1"};

std::string in_capitals(std::string_view name); // of one of the above

// The list of NO_PROXY with what it lacks of `names`, at its end; "*" has them all.
std::string with_names(const std::string& list, const std::vector<std::string>& names);

} // namespace dockdist
