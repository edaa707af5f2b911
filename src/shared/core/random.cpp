#include "shared/core/random.hpp"

#include <random>

namespace dockdist {

std::string random_hex(std::size_t digits) {
    static_assert(std::random_device::min() == 0 && std::random_device::max() == 0xffffffff);
    static constexpr char hex[] = "0123456789abcdef";
    std::random_device device;
    std::string text;
    text.reserve(digits);
    auto rest = device();
    for (std::size_t i = 0; i < digits; ++i) {
        if (i > 0 && i % 8 == 0) {
            rest = device();
        }
        text += hex[rest % 16];
        rest /= 16;
    }
    return text;
}

} // namespace dockdist
