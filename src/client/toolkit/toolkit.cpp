#include "client/toolkit/toolkit.hpp"

#include <cstddef>
#include <map>
#include <stdexcept>
#include <zstd.h>

namespace dockdist {

struct EmbeddedToolkit {
    const char* architecture;
    const char* begin; // of the compressed tar, …
    const char* end;   // … and the first byte behind it
    const char* version;
};
// In toolkit_table.cpp; the last one has no architecture.
extern "C" const EmbeddedToolkit dockdist_toolkits[];

namespace {

// What a build has put into its own program cannot be wrong but by a mistake.
std::string uncompress(std::span<const char> packed) {
    const auto size = ::ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
        throw std::runtime_error("the toolkit in this program is damaged");
    }
    std::string bytes(size, '\0');
    if (::ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != size) {
        throw std::runtime_error("the toolkit in this program is damaged");
    }
    return bytes;
}

Toolkit toolkit_of(const EmbeddedToolkit& embedded) {
    return {.architecture = embedded.architecture, .version = embedded.version, .tar = [&embedded] {
                static std::map<const EmbeddedToolkit*, std::string> uncompressed;
                auto found = uncompressed.find(&embedded);
                if (found == uncompressed.end()) {
                    found = uncompressed.emplace(&embedded, uncompress({embedded.begin, embedded.end})).first;
                }
                return std::span<const char>(found->second);
            }};
}

} // namespace

const Toolkits& toolkits() {
    static const Toolkits all([] {
        std::vector<Toolkit> result;
        for (const auto* one = dockdist_toolkits; one->architecture != nullptr; ++one) {
            result.push_back(toolkit_of(*one));
        }
        return result;
    }());
    return all;
}

const Toolkit& own_toolkit() {
    return *toolkits().of(built_architecture);
}

} // namespace dockdist
