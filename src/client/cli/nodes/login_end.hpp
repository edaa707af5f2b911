// What a login's sshd leaves to be said when it ends: `proxy` speaks of it only where ssh cannot.
#pragma once

#include "client/container/container_engine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

class LoginEnd {
public:
    // What comes from the node; little of it is kept.
    void take(StdStream stream, std::string_view bytes);

    // Nothing: all is well, or ssh left first and says itself what there is to say.
    std::optional<Error> error(const std::string& node, int code, bool ssh_has_left) const;

private:
    std::string what_it_said(int code) const;

    std::string out_{};       // its begin
    std::string err_begin_{}; // and of what it says of itself the begin and the end
    std::string err_{};
};

} // namespace dockdist
