#include "node/system/amd_gpus.hpp"

#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/number.hpp"
#include "shared/gpu/kfd.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_driver_file = 64U << 10U;

std::string driver_text(const std::string& path) {
    auto text = read_file(path, longest_driver_file);
    if (!text) {
        return {};
    }
    text->erase(text->find_last_not_of(" \t\r\n") + 1);
    return std::move(*text);
}

bool are_asked_for() {
    return Environment::own().get(amd_asked_variable).has_value();
}

std::optional<double> driver_figure(const std::string& path, double unit = 1) {
    const auto number = whole_number<std::int64_t>(driver_text(path));
    return number && *number >= 0 ? std::optional(static_cast<double>(*number) / unit) : std::nullopt;
}

std::optional<std::uint64_t> driver_bytes(const std::string& path) {
    return whole_number<std::uint64_t>(driver_text(path));
}

std::optional<double> in_mib(std::optional<std::uint64_t> bytes) {
    return bytes ? std::optional(static_cast<double>(*bytes >> 20U)) : std::nullopt;
}

AmdGpu gpu_at(const KfdGpu& found, int index, bool with_errors) {
    const auto device = under_root("/sys/class/drm/renderD") + std::to_string(found.render_minor) + "/device";
    auto sensors = list_folder(device + "/hwmon");
    std::ranges::sort(sensors);
    const auto sensor = device + "/hwmon/" + (sensors.empty() ? "none" : sensors.front());
    const auto total = driver_bytes(device + "/mem_info_vram_total");

    AmdGpu amd;
    auto& figures = amd.figures;
    figures.utilization_percent = driver_figure(device + "/gpu_busy_percent");
    figures.memory_bytes = driver_bytes(device + "/mem_info_vram_used");
    figures.power_w = driver_figure(sensor + "/power1_average", 1e6);
    if (!figures.power_w) {
        figures.power_w = driver_figure(sensor + "/power1_input", 1e6);
    }
    figures.temperature_c = driver_figure(sensor + "/temp1_input", 1e3);
    figures.clock_mhz = driver_figure(sensor + "/freq1_input", 1e6);

    auto name = driver_text(device + "/product_name");
    if (name.empty()) {
        name = "AMD " + (found.kind.empty() ? std::string("GPU") : found.kind);
    }
    amd.inventory = {.index = index,
                     .uuid = found.uuid,
                     .name = name.substr(0, wire::longest_sampled_word),
                     .memory_bytes = total,
                     .power_limit_w = driver_figure(sensor + "/power1_cap", 1e6)};
    amd.gpu = {.index = index,
               .uuid = found.uuid,
               .name = amd.inventory.name,
               .driver = driver_text(under_root("/sys/module/amdgpu/version")),
               .memory_used_mib = in_mib(figures.memory_bytes),
               .memory_total_mib = in_mib(total),
               .utilization_percent = figures.utilization_percent,
               .temperature_c = figures.temperature_c,
               .power_w = figures.power_w};
    if (with_errors) {
        amd.gpu.uncorrected = parse_ras(driver_text(device + "/ras/umc_err_count"));
    }
    if (amd.gpu.driver.empty()) {
        amd.gpu.driver = "amdgpu"; // the kernel's own
    }
    return amd;
}

} // namespace

std::vector<AmdGpu> look_at_amd_gpus(bool with_errors) {
    if (!are_asked_for() || ::access(under_root("/dev/kfd").c_str(), F_OK) != 0) {
        return {};
    }
    const auto topology = under_root("/sys/class/kfd/kfd/topology/nodes");
    std::vector<int> nodes;
    for (const auto& name : list_folder(topology)) {
        if (const auto number = whole_number<int>(name); number && *number >= 0) {
            nodes.push_back(*number);
        }
    }
    std::ranges::sort(nodes);
    std::vector<AmdGpu> gpus;
    for (const auto node : nodes) {
        const auto found = parse_kfd(driver_text(topology + "/" + std::to_string(node) + "/properties"));
        const auto device = found ? under_root("/dev/dri/renderD") + std::to_string(found->render_minor) : "";
        struct stat status{};
        if (found && gpus.size() < wire::most_sampled_gpus && ::stat(device.c_str(), &status) == 0) {
            gpus.push_back(gpu_at(*found, static_cast<int>(gpus.size()), with_errors));
        }
    }
    // Partitions of one GPU may have its number: what cannot be told apart cannot be given out.
    std::map<std::string, int> bearers;
    for (const auto& one : gpus) {
        ++bearers[one.gpu.uuid];
    }
    for (auto& one : gpus) {
        if (bearers[one.gpu.uuid] > 1) {
            one.gpu.uuid.clear();
            one.inventory.uuid.clear();
        }
    }
    return gpus;
}

bool is_own_device(const std::string& path, const std::string& dev, const UserMounts& mounts) {
    struct stat folder{};
    struct stat device{};
    return ::stat(dev.c_str(), &folder) == 0 && ::lstat(path.c_str(), &device) == 0 &&
           !S_ISLNK(device.st_mode) && device.st_dev == folder.st_dev && !mounts.hold(path);
}

void open_amd_gpus_to_all(const UserMounts& mounts) {
    if (!are_asked_for()) {
        return;
    }
    std::vector<std::string> devices{under_root("/dev/kfd")};
    for (const auto& name : list_folder(under_root("/dev/dri"))) {
        if (name.starts_with("renderD")) {
            devices.push_back(under_root("/dev/dri/") + name);
        }
    }
    for (const auto& device : devices) {
        if (is_own_device(device, under_root("/dev"), mounts)) {
            (void)::chmod(device.c_str(), 0666);
        }
    }
}

} // namespace dockdist::node
