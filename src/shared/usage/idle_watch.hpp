// Whether the GPUs that a job has on a node have done nothing for a while. Pure.
#pragma once

#include "shared/usage/recorder.hpp"

#include <cstdint>
#include <optional>

namespace dockdist {

class IdleWatch {
public:
    // `gpus`: how many there are whose utilisation a reading has to tell; 0: there are none, which are idle
    // from the beginning. idle_ms 0: nothing is watched.
    IdleWatch(std::int64_t idle_ms, int gpus) : idle_ms_(idle_ms), gpus_(gpus) {}

    // From here on, by the readings' clock. True where that is idleness already.
    bool begin(std::int64_t now_ms);
    // True: they are idle from now on; false: they are not any more; nothing: it is as it was. A GPU that
    // tells nothing is taken for busy.
    std::optional<bool> hear(const Reading& reading);

    // For how long the GPUs that there are have done nothing, where that was told.
    std::optional<std::int64_t> idle_for_ms(std::int64_t now_ms) const;
    int gpus() const { return gpus_; }

private:
    std::int64_t idle_ms_;
    int gpus_;
    std::int64_t since_ms_ = 0; // nothing was done
    bool idle_ = false;         // and that was told
};

} // namespace dockdist
