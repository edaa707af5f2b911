#include "node/job/srun/srun.hpp"

#include "node/job/srun/sbatch.hpp"
#include "node/job/srun/srun_cluster.hpp"
#include "node/job/srun/srun_layout.hpp"
#include "node/job/srun/srun_options.hpp"
#include "node/job/srun/srun_output.hpp"
#include "node/job/srun/srun_step.hpp"
#include "node/system/os.hpp"
#include "shared/core/exit_codes.hpp"

#include <climits>

#include <fcntl.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int wrong_option = 255; // as Slurm's

// A stdin that is closed (`<&-`) is an empty one: else what is opened next would be taken for it.
void open_missing_streams() {
    for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;) {
        fd = ::open("/dev/null", O_RDWR);
        if (fd > STDERR_FILENO) {
            ::close(fd);
        }
    }
}

} // namespace

int run_srun(const std::vector<std::string>& arguments) {
    open_missing_streams();
    enter_script_of_caller();
    const auto own = Environment::own();
    auto options = parse_srun(arguments, own);
    if (!options && options.error().kind == ErrorKind::usage) {
        srun_remark(options.error().message);
        (void)write_all(STDERR_FILENO, "Try \"srun --help\" for more information\n");
        return wrong_option;
    }
    if (!options) {
        return srun_error(options.error().message);
    }
    if (const auto text = srun_answer(*options, "srun")) {
        return write_all(STDOUT_FILENO, *text) ? 0 : exit_codes::failed;
    }
    auto part = own_part();
    auto cluster = find_srun_cluster(part);
    if (!cluster) {
        return srun_error(cluster.error().message);
    }
    auto nodes = lay_out(*options, cluster->available);
    if (!nodes) {
        return srun_error("Unable to allocate resources: " + nodes.error().message);
    }
    for (const auto& line : options->quiet ? std::vector<std::string>{} : options->remarks) {
        srun_remark(line);
    }
    options->own_folder = current_folder();
    if (!options->folder.starts_with('/')) {
        options->folder = options->own_folder + (options->folder.empty() ? "" : "/" + options->folder);
    }
    return SrunStep(std::move(*options), std::move(*nodes), std::move(cluster->interfaces), std::move(part))
        .run();
}

} // namespace dockdist::node
