#include "probe/output.hpp"

#include "shared/wire/json_reader.hpp"

#include <cerrno>
#include <unistd.h>

namespace dockdist::probe {

Output::Output() : descriptor_(dup(STDOUT_FILENO)) {
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

void Output::line(const nlohmann::json& json) {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
        write(json);
    }
}

bool Output::result(const nlohmann::json& json) {
    const std::lock_guard lock(mutex_);
    if (ended_) {
        return false;
    }
    ended_ = true;
    write(json);
    return true;
}

bool Output::fail(const Error& error) {
    return result(
        {{"type", "result"}, {"ok", false}, {"measurements", 0}, {"error", wire::error_to_json(error)}});
}

void Output::write(const nlohmann::json& json) const {
    const auto text = wire::dump(json) + "\n";
    for (std::size_t done = 0; done < text.size();) {
        const auto written = ::write(descriptor_, text.data() + done, text.size() - done);
        if (written < 0 && errno != EINTR) {
            return; // nobody reads: the end of stdin tells the same
        }
        done += written < 0 ? 0 : static_cast<std::size_t>(written);
    }
}

} // namespace dockdist::probe
