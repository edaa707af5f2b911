// What is put into every container, once for each architecture of containers that this build knows. The
// architectures have Go's names, as images and engines say them: "amd64", "arm64".
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct Toolkit {
    std::string architecture{};
    std::string version{}; // 12 hex digits
    // Uncompressed; entries are relative to /opt/dockdist, the last one completes it. It stays where it is.
    std::function<std::span<const char>()> tar{};
};

class Toolkits {
public:
    Toolkits() = default;
    explicit Toolkits(std::vector<Toolkit> all) : all_(std::move(all)) {}

    const std::vector<Toolkit>& all() const { return all_; }
    // nullptr: this build has none.
    const Toolkit* of(std::string_view architecture) const;
    std::vector<std::string> versions() const;
    // "amd64, arm64"
    std::string architectures() const;

private:
    std::vector<Toolkit> all_{};
};

// Go's name of what `uname -m` says, and engines other than Podman: "amd64" of "x86_64". Any other stays.
std::string go_architecture(std::string_view machine);

// What this program runs as.
#if defined(__x86_64__)
inline constexpr const char* built_architecture = "amd64";
#elif defined(__aarch64__)
inline constexpr const char* built_architecture = "arm64";
#else
#error "no toolkit for this architecture"
#endif

} // namespace dockdist
