#include "client/container/image_address.hpp"

namespace dockdist {

ImageRef image_at(const std::string& url, const std::string& repository, const std::string& tag) {
    return ImageRef(url + "#" + repository + ":" + tag);
}

std::optional<ImageAddress> address_in(const ImageRef& ref) {
    const auto& text = ref.str();
    const auto name = text.rfind('#');
    const auto tag = text.rfind(':');
    if (!text.starts_with("http://") || name == std::string::npos || tag == std::string::npos || tag < name) {
        return std::nullopt;
    }
    return ImageAddress{.url = text.substr(0, name),
                        .repository = text.substr(name + 1, tag - name - 1),
                        .tag = text.substr(tag + 1)};
}

} // namespace dockdist
