#include "shared/launch/roles.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/common.hpp"
#include "shared/launch/launcher_names.hpp"

#include <algorithm>

namespace dockdist {

Result<Roles> read_roles(const std::vector<std::string>& words, Roles file) {
    for (const auto& word : words) {
        const auto equals = word.find('=');
        const auto role = word.substr(0, equals);
        const auto number = equals == std::string::npos ? "" : word.substr(equals + 1);
        const auto count = whole_number<int>(number);
        if (std::ranges::find(role_names, role) == role_names.end()) {
            const auto meant = nearest(role, role_names);
            return Error{ErrorKind::usage, "--role", "unknown role `" + printable(role) + "`",
                         meant.empty() ? "roles: " + list_of(role_names) : "did you mean `" + meant + "`?"};
        }
        if (!count || *count < 0 || *count > most_of_a_role) {
            return Error{ErrorKind::usage, "--role",
                         "`" + printable(word) + "` does not say how many there are",
                         "write it like ps=1, up to " + std::to_string(most_of_a_role)};
        }
        file[role] = *count;
    }
    return file;
}

int role_count(const Roles& roles, std::string_view role, int otherwise) {
    const auto found = roles.find(std::string(role));
    return found == roles.end() ? otherwise : found->second;
}

} // namespace dockdist
