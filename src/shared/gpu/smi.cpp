#include "shared/gpu/smi.hpp"

#include <algorithm>

namespace dockdist {
namespace {

std::vector<std::string> query(std::string fields) {
    return {"nvidia-smi", "--query-" + std::move(fields), "--format=csv,noheader,nounits"};
}

std::vector<std::string> figures_query(const char* reasons) {
    return query(std::string("gpu=index,uuid,name,driver_version,mig.mode.current,memory.total,power.limit,"
                             "clocks.max.sm,utilization.gpu,memory.used,power.draw,temperature.gpu,"
                             "clocks.sm,") +
                 reasons);
}

} // namespace

const std::vector<SmiCommand>& smi_commands() {
    static const std::vector<SmiCommand> commands{
        {SmiQuestion::gpus, "gpus",
         query("gpu=index,uuid,name,memory.used,memory.total,utilization.gpu,temperature.gpu,power.draw,"
               "driver_version,mig.mode.current,ecc.errors.uncorrected.volatile.total")},
        {SmiQuestion::listing, "listing", {"nvidia-smi", "-L"}},
        {SmiQuestion::topology, "topology", {"nvidia-smi", "topo", "-m"}},
        {SmiQuestion::table, "table", {"nvidia-smi"}},
        {SmiQuestion::log, "log", {"nvidia-smi", "-q", "-i", "0"}},
        {SmiQuestion::remapped_rows, "remapped-rows",
         query("remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure")},
        {SmiQuestion::processes, "processes",
         query("compute-apps=gpu_uuid,pid,used_gpu_memory,process_name")},
        {SmiQuestion::figures, "figures", figures_query("clocks_event_reasons.active")},
        {SmiQuestion::old_figures, "old-figures", figures_query("clocks_throttle_reasons.active")},
    };
    return commands;
}

const std::vector<std::string>& smi_argv(SmiQuestion question) {
    return std::ranges::find(smi_commands(), question, &SmiCommand::question)->argv;
}

} // namespace dockdist
