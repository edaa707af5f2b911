// What a file or folder of the host gives to the jobs that it is mounted for: what they may do there, as root
// of their container, is more than some who write a file expect.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

struct HostMountRemark {
    std::string_view given{}; // "gives every job …"
    std::string_view hint{};
};

// `source`: an absolute path. Nothing where it is as harmless as any other folder.
std::optional<HostMountRemark> judge_host_mount(const std::string& source, bool read_only);

} // namespace dockdist
