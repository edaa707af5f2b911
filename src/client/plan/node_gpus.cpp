#include "client/plan/node_gpus.hpp"

#include "client/plan/engine_abilities.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/topology.hpp"
#include "shared/gpu/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

namespace dockdist {
namespace {

// Whether an engine that is given `name` gives this GPU. "0:1" is the second instance of GPU 0: then all of
// its instances count, as nobody tells their order there.
bool names(const std::string& name, const wire::GpuFacts& gpu) {
    if (const auto equals = name.find('='); equals != std::string::npos) {
        return names(name.substr(equals + 1), gpu);
    }
    const auto index = name.substr(0, name.find(':'));
    return name == gpu.unit.id || index == std::to_string(gpu.unit.index);
}

std::string list_of(const std::vector<int>& indices) {
    return fmt::format("GPU {}", fmt::join(indices, ", "));
}

class Choice {
public:
    Choice(const ObservedHost& host, std::size_t count, const std::set<std::string>& taken)
        : host_(host), report_(*host.gpus), count_(count), taken_(taken) {}

    Result<ChosenGpus> make(const std::vector<std::string>& had) {
        if (report_.units.empty()) {
            return Error{ErrorKind::node, "",
                         "the host's GPUs are not known: " +
                             (report_.problem.empty() ? "nvidia-smi reports none" : report_.problem),
                         "does nvidia-smi work on that host? Else name them: `gpus: [0, 1]`"};
        }
        sort_out();
        if (auto kept = keep(had)) {
            return std::move(*kept);
        }
        if (count_ > free_.size()) {
            return count_ > free_.size() + held() ? too_many() : all_held();
        }
        return choose();
    }

private:
    void sort_out() {
        for (std::size_t i = 0; i < report_.units.size(); ++i) {
            const auto& gpu = report_.units[i];
            const auto* const holder = neighbour_with(host_.neighbours, gpu);
            if (!gpu.problem.empty()) {
                ill_.push_back(gpu.problem);
            } else if (holder != nullptr) {
                holders_[fmt::format("{}'s{}", holder->cluster,
                                     holder->owner.empty() ? "" : " (" + holder->owner + ")")]
                    .push_back(gpu.unit.index);
            } else if (taken_.contains(gpu.unit.id)) {
                ++taken_here_;
            } else {
                free_.push_back(i);
            }
        }
    }

    std::size_t held() const {
        std::size_t count = 0;
        for (const auto& [who, gpus] : holders_) {
            count += gpus.size();
        }
        return count;
    }

    std::optional<ChosenGpus> keep(const std::vector<std::string>& had) const {
        std::vector<std::size_t> places;
        std::ranges::copy_if(free_, std::back_inserter(places), [&](std::size_t i) {
            return std::ranges::find(had, report_.units[i].unit.id) != had.end();
        });
        if (places.size() != count_ || had.size() != count_) {
            return std::nullopt;
        }
        return gpus_at(places, "as before");
    }

    ChosenGpus choose() const {
        std::vector<std::size_t> pool;
        std::ranges::copy_if(free_, std::back_inserter(pool),
                             [&](std::size_t i) { return !report_.units[i].hold; });
        if (pool.size() < count_) {
            pool = free_;
        }
        if (std::ranges::any_of(pool, [&](std::size_t i) { return is_instance(report_.units[i].unit); })) {
            pool.resize(count_);
            return gpus_at(pool, "");
        }
        std::vector<int> indices;
        for (const auto i : pool) {
            indices.push_back(report_.units[i].unit.index);
        }
        const auto chosen = choose_gpus(count_, indices, parse_topology(report_.topology));
        std::erase_if(pool, [&](std::size_t i) {
            return std::ranges::find(chosen.indices, report_.units[i].unit.index) == chosen.indices.end();
        });
        return gpus_at(pool, chosen.together);
    }

    ChosenGpus gpus_at(const std::vector<std::size_t>& places, std::string why) const {
        ChosenGpus gpus{.why = std::move(why)};
        std::vector<int> used;
        for (const auto i : places) {
            const auto& gpu = report_.units[i];
            gpus.ids.push_back(gpu.unit.id);
            gpus.indices.push_back(gpu.unit.index);
            if (gpu.hold) {
                used.push_back(gpu.unit.index);
            }
        }
        if (!used.empty()) {
            gpus.why += fmt::format("{}{} in use now", gpus.why.empty() ? "" : "; ", list_of(used));
        }
        return gpus;
    }

    Error too_many() const {
        const auto there = report_.units.size();
        auto message = fmt::format("{} {} asked for, and the host has {}", counted(count_, "GPU"),
                                   count_ == 1 ? "is" : "are", there);
        for (const auto& sentence : ill_) {
            message += "; " + sentence;
        }
        if (taken_here_ > 0) {
            message += fmt::format("; {} {} other nodes'", taken_here_, taken_here_ == 1 ? "is" : "are");
        }
        return {ErrorKind::config, "", message, "ask for fewer"};
    }

    Error all_held() const {
        std::string who;
        for (const auto& [holder, gpus] : holders_) {
            who += fmt::format("{}{} {} {}", who.empty() ? "" : ", ", list_of(gpus),
                               gpus.size() == 1 ? "is" : "are", holder);
        }
        return {
            ErrorKind::conflict, "",
            fmt::format("{} {} asked for, and {} of {} {} free: {}", counted(count_, "GPU"),
                        count_ == 1 ? "is" : "are", free_.size(), report_.units.size(),
                        free_.size() == 1 ? "is" : "are", who),
            "wait until one of these clusters is down, or ask for fewer; clusters with `gpus: all` share a "
            "host's GPUs job by job"};
    }

    const ObservedHost& host_;
    const wire::GpuReport& report_;
    std::size_t count_;
    const std::set<std::string>& taken_;
    std::vector<std::size_t> free_{};                   // places in the report
    std::map<std::string, std::vector<int>> holders_{}; // "speech's (ada@desk)"
    std::vector<std::string> ill_{};
    std::size_t taken_here_ = 0;
};

} // namespace

const Neighbour* neighbour_with(const std::vector<Neighbour>& neighbours, const wire::GpuFacts& gpu) {
    const auto found = std::ranges::find_if(neighbours, [&](const Neighbour& other) {
        return std::ranges::any_of(other.gpus, [&](const auto& name) { return names(name, gpu); });
    });
    return found == neighbours.end() ? nullptr : &*found;
}

Result<ChosenGpus> choose_node_gpus(const ObservedHost& host, std::size_t count,
                                    const std::vector<std::string>& had, std::set<std::string>& taken) {
    auto chosen = Choice(host, count, taken).make(had);
    if (chosen) {
        taken.insert(chosen->ids.begin(), chosen->ids.end());
    }
    return chosen;
}

std::string to_text(const ChosenGpus& gpus) {
    return list_of(gpus.indices) + (gpus.why.empty() ? "" : ": " + gpus.why);
}

std::string gpus_label(const GpuSpec& gpus) {
    if (gpus.kind == GpuSpec::Kind::devices) {
        return fmt::format("{}", fmt::join(gpus.devices, ","));
    }
    return gpus.kind == GpuSpec::Kind::all ? "all" : "none";
}

std::vector<std::string> gpus_of_label(const std::string& label) {
    return label.empty() || label == "all" || label == "none" ? std::vector<std::string>()
                                                              : split(label, ',');
}

std::vector<std::string> gpus_of_requests(const std::vector<DeviceRequest>& requests) {
    constexpr int most = 1024;
    std::vector<std::string> gpus;
    for (const auto& request : requests) {
        for (int i = 0; i < std::min(request.count, most); ++i) {
            gpus.push_back(std::to_string(i));
        }
        std::ranges::copy_if(request.device_ids, std::back_inserter(gpus),
                             [](const std::string& id) { return id != "all" && !id.ends_with("=all"); });
    }
    return gpus;
}

std::string cdi_name_of(const std::string& uuid, const wire::GpuReport& report, const EngineInfo& engine) {
    auto by_uuid = std::string(nvidia_cdi_kind) + uuid;
    const auto unit = std::ranges::find(report.units, uuid, [](const auto& gpu) { return gpu.unit.id; });
    if (unit == report.units.end()) {
        return by_uuid;
    }
    auto by_index = std::string(nvidia_cdi_kind) + std::to_string(unit->unit.index);
    if (is_instance(unit->unit)) { // nvidia-ctk counts a GPU's instances as nvidia-smi -L does
        const auto before = std::count_if(report.units.begin(), unit, [&](const wire::GpuFacts& other) {
            return other.unit.index == unit->unit.index;
        });
        by_index += ":" + std::to_string(before);
    }
    const auto known = [&](const std::string& name) {
        return std::ranges::find(engine.cdi_devices, name) != engine.cdi_devices.end();
    };
    return !known(by_uuid) && known(by_index) ? by_index : by_uuid;
}

} // namespace dockdist
