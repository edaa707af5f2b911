// The probe's stdout: JSON lines, each in one write, and nothing after the result. Two threads use it.
#pragma once

#include "shared/core/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <mutex>

namespace dockdist::probe {

class Output {
public:
    // Keeps stdout for the lines alone: what a library prints goes to stderr from here on.
    Output();

    void line(const nlohmann::json& json);
    // Only the first one counts. False where there was one.
    bool result(const nlohmann::json& json);
    bool fail(const Error& error); // a result that has nothing but its error

private:
    void write(const nlohmann::json& json) const;

    int descriptor_;
    std::mutex mutex_{};
    bool ended_ = false;
};

} // namespace dockdist::probe
