#include "client/cli/jobs/own_variables.hpp"

#include "shared/core/text.hpp"

#include <cstdlib>

namespace dockdist {

Result<std::map<std::string, std::string>> own_variables(const std::vector<std::string>& settings) {
    std::map<std::string, std::string> env;
    for (const auto& setting : settings) {
        const auto equals = setting.find('=');
        const auto name = setting.substr(0, equals);
        if (name.empty()) {
            return Error{ErrorKind::usage, "--env", "`" + printable(setting) + "` names no variable",
                         "write NAME=VALUE, or NAME to pass on yours"};
        }
        if (equals != std::string::npos) {
            env[name] = setting.substr(equals + 1);
        } else if (const char* value = std::getenv(name.c_str()); value != nullptr) {
            env[name] = value;
        } else {
            return Error{ErrorKind::usage, "--env", "`" + printable(name) + "` is not set here",
                         "write " + printable(name) + "=VALUE"};
        }
    }
    return env;
}

} // namespace dockdist
