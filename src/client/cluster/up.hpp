// up: from what stands on the hosts to what the file says, or back to what stood before.
#pragma once

#include "client/image/registry_auth.hpp"
#include "client/image/send_image.hpp"
#include "client/observe/observe.hpp"
#include "client/plan/lost_files.hpp"
#include "client/report/event.hpp"
#include "shared/core/toolkits.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace dockdist {

struct UpOptions {
    bool keep = false;       // leave what was made when something fails
    bool keep_going = false; // without the hosts that fail, as long as one is left; else as `min_nodes` says
    bool take_over = false;  // change a cluster of this name that somebody else made
    bool break_lock = false; // take the lock from whoever holds it
    bool stop_jobs = false;  // end the jobs on nodes that are recreated or go
    std::string release{};   // of dockdist: "0.2.0"
    std::string origin{};    // USER@MACHINE:FILE
    std::string attempt{};   // unique to this call
    std::chrono::milliseconds ready_timeout{60000};              // how long nodes try to meet each other
    std::function<Task<Result<RegistryAuth>>()> registry_auth{}; // asked once, when an image is to be pulled
    ComesAgain comes_again{};                                    // which files on no mount are no loss
    // Told of files that go with the containers which are replaced or removed; false: nothing is changed.
    std::function<Task<bool>(Errors losses)> may_lose{};
    std::function<Task<Result<ImageSource>>()> image_source{}; // where the image comes from when no registry
};

struct PhaseTiming {
    std::string phase{};
    std::chrono::milliseconds elapsed{0};
    std::string slowest{}; // host or node
    std::chrono::milliseconds slowest_elapsed{0};
};

struct UpResult {
    bool changed = false;
    std::vector<ReadyNode> nodes{};
    Errors errors{}; // empty: every node is ready, or enough of them are
    bool jobs_in_way =
        false;         // nothing was done, as the errors are jobs that it would end: UpOptions::stop_jobs
    Errors missing{};  // what is wrong with the hosts that are left out
    Errors warnings{}; // as they were reported
    std::vector<PhaseTiming> timings{};
};

// Phases with barriers: all hosts run side by side in a phase, all finish it, and every failure is told. A
// host that fails is left out where enough others remain; what was made on it is taken back. On failure or
// cancellation what this call created is taken back (unless keep), and the error or the
// cancellation goes on.
Task<UpResult> up(const ClusterSpec& spec, const Engines& engines, const Toolkits& toolkits,
                  const UpOptions& options, Reporter& reporter);

} // namespace dockdist
