#include "client/export/kubernetes/references.hpp"

namespace dockdist {

// The kubelet reads `$$` as a dollar sign and leaves any other that no parenthesis follows.
std::string escape_references(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        result += text[i];
        if (text[i] == '$' && i + 1 < text.size() && (text[i + 1] == '$' || text[i + 1] == '(')) {
            result += '$';
        }
    }
    return result;
}

} // namespace dockdist
