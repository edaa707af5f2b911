#include "node/sampler/host_counters.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sys/statvfs.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::uint64_t sector = 512; // of /proc/diskstats, whatever the disk's own is

std::optional<std::uint64_t> count_in(const std::string& path) {
    const auto text = read_file_or_empty(path);
    return whole_number<std::uint64_t>(std::string_view(text).substr(0, text.find('\n')));
}

std::string proc(const char* path) {
    return read_file_or_empty(under_root(path));
}

bool is_hardware(const std::string& folder) {
    return !read_link(folder + "/device").empty();
}

// The hardware's. Without any (a container's own network) all but loopback.
std::vector<std::string> interfaces() {
    const auto folder = under_root("/sys/class/net");
    std::vector<std::string> all, hardware;
    for (const auto& name : list_folder(folder)) {
        if (name == "lo" || read_link(folder + "/" + name).empty()) { // bonding_masters is a file
            continue;
        }
        all.push_back(name);
        if (is_hardware(folder + "/" + name)) {
            hardware.push_back(name);
        }
    }
    return hardware.empty() ? all : hardware;
}

std::vector<std::string> rdma_ports_of_host() {
    std::vector<std::string> ports;
    for (const auto& device : list_folder(paths().infiniband)) {
        for (const auto& port : list_folder(paths().infiniband + "/" + device + "/ports")) {
            ports.push_back(device + "/" + port);
        }
    }
    return ports;
}

// Port counters are in units of four bytes.
wire::TrafficCount count_rdma(const std::string& name) {
    const auto slash = name.find('/');
    const auto folder =
        paths().infiniband + "/" + name.substr(0, slash) + "/ports/" + name.substr(slash + 1) + "/counters/";
    wire::TrafficCount count{.received = count_in(folder + "port_rcv_data"),
                             .sent = count_in(folder + "port_xmit_data")};
    for (auto* words : {&count.received, &count.sent}) {
        if (*words) {
            **words = **words < (UINT64_MAX >> 3U) ? **words * 4 : 0;
        }
    }
    return count;
}

struct DiskRoom {
    std::uint64_t size = 0, used = 0;
};
// As df has them: what is kept for root is of neither.
std::optional<DiskRoom> room_of(const std::string& path) {
    struct statvfs about{};
    if (::statvfs(under_root(path.c_str()).c_str(), &about) != 0 || about.f_blocks == 0) {
        return std::nullopt;
    }
    const auto used = static_cast<std::uint64_t>(about.f_blocks - about.f_bfree) * about.f_frsize;
    return DiskRoom{.size = used + static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize, .used = used};
}

void count_disks(wire::Sample& sample) {
    const auto folder = under_root("/sys/block");
    for (const auto& [name, count] : parse_diskstats(proc("/proc/diskstats"))) {
        if (name.find('/') == std::string::npos && is_hardware(folder + "/" + name)) {
            sample.disk_read = sample.disk_read.value_or(0) + count.read;
            sample.disk_written = sample.disk_written.value_or(0) + count.written;
        }
    }
}

template <class Items>
void cap(Items& items) {
    items.resize(std::min(items.size(), wire::most_sampled_items));
}

std::string without_octal(std::string_view text) { // "\040" of mountinfo
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned code = 0;
        if (text[i] == '\\' && i + 3 < text.size() &&
            std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4) {
            plain += static_cast<char>(code);
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

bool is_local(std::string_view type) {
    constexpr std::array<std::string_view, 11> local{"overlay", "ext2", "ext3",  "ext4", "xfs",     "btrfs",
                                                     "zfs",     "f2fs", "tmpfs", "vfat", "bcachefs"};
    return std::ranges::find(local, type) != local.end();
}

// Of the system's own, and of what an engine and dockdist mount into each container.
bool is_of_system(std::string_view path) {
    return std::ranges::any_of(
        std::array<std::string_view, 8>{"/proc", "/sys", "/dev", "/run", "/etc", "/opt/dockdist",
                                        "/var/lib/dockdist", "/var/run"},
        [&](std::string_view folder) {
            return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
        });
}

} // namespace

std::optional<std::int64_t> parse_busy_ticks(std::string_view proc_stat) {
    const auto words = split_blanks(proc_stat.substr(0, proc_stat.find('\n')));
    if (words.size() < 6 || words[0] != "cpu") {
        return std::nullopt;
    }
    std::int64_t busy = 0;
    for (std::size_t i = 1; i < std::min<std::size_t>(words.size(), 9); ++i) { // to steal; guests are in user
        const auto ticks = whole_number<std::int64_t>(words[i]);
        const bool idle = i == 4 || i == 5; // idle, iowait
        busy += ticks && !idle ? *ticks : 0;
    }
    return busy;
}

std::optional<MemoryCount> parse_meminfo(std::string_view meminfo) {
    MemoryCount count;
    for (const auto& line : split(meminfo, '\n')) {
        const auto words = split_blanks(line);
        const auto kib = words.size() > 1 ? whole_number<std::uint64_t>(words[1]) : std::nullopt;
        if (kib && *kib < (UINT64_MAX >> 11U)) {
            count.total = words[0] == "MemTotal:" ? *kib * 1024 : count.total;
            count.available = words[0] == "MemAvailable:" ? *kib * 1024 : count.available;
        }
    }
    return count.total > 0 ? std::optional(count) : std::nullopt;
}

std::map<std::string, DiskCount> parse_diskstats(std::string_view diskstats) {
    std::map<std::string, DiskCount> counts;
    for (const auto& line : split(diskstats, '\n')) {
        const auto words =
            split_blanks(line); // major minor name reads merged SECTORS ms writes merged SECTORS …
        const auto read = words.size() > 9 ? whole_number<std::uint64_t>(words[5]) : std::nullopt;
        const auto written = read ? whole_number<std::uint64_t>(words[9]) : std::nullopt;
        if (written) {
            counts[std::string(words[2])] = {.read = *read * sector, .written = *written * sector};
        }
    }
    return counts;
}

std::map<std::string, wire::TrafficCount> parse_net_dev(std::string_view net_dev) {
    std::map<std::string, wire::TrafficCount> counts;
    for (const auto& line : split(net_dev, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        const auto names = split_blanks(std::string_view(line).substr(0, colon));
        const auto words = split_blanks(std::string_view(line).substr(colon + 1));
        if (names.size() == 1 && words.size() > 8) {
            counts[std::string(names[0])] = {.received = whole_number<std::uint64_t>(words[0]),
                                             .sent = whole_number<std::uint64_t>(words[8])};
        }
    }
    return counts;
}

std::vector<std::string> watched_mounts(std::string_view mountinfo) {
    std::vector<std::string> mounts;
    std::set<std::string> devices;
    for (const auto& line : split(mountinfo, '\n')) {
        // 36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
        const auto words = split_blanks(line);
        const auto dash = std::ranges::find(words, "-");
        if (words.size() < 9 || dash == words.end() || std::next(dash) == words.end()) {
            continue;
        }
        auto path = without_octal(words[4]);
        const bool can_fill = words[5].starts_with("rw") && is_local(*std::next(dash)) &&
                              path.size() <= wire::longest_sampled_word;
        if (can_fill && (path == "/dev/shm" || !is_of_system(path)) && is_printable(path) &&
            std::ranges::find(mounts, path) == mounts.end() && devices.insert(std::string(words[2])).second) {
            mounts.push_back(std::move(path));
        }
    }
    if (const auto root = std::ranges::find(mounts, "/"); root != mounts.end()) {
        std::rotate(mounts.begin(), root, std::next(root));
    }
    return mounts;
}

void look_at_host(wire::SampleFacts& facts) {
    facts.cpus = static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L));
    if (const auto memory = parse_meminfo(proc("/proc/meminfo"))) {
        facts.memory_bytes = memory->total;
    }
    facts.disks.clear();
    for (auto& path : watched_mounts(proc("/proc/self/mountinfo"))) {
        const auto room = is_folder(under_root(path.c_str())) ? room_of(path) : std::nullopt;
        if (room && facts.disks.size() < wire::most_sampled_items) {
            facts.disks.push_back({.path = std::move(path), .size_bytes = room->size});
        }
    }
    facts.network = interfaces();
    facts.rdma = rdma_ports_of_host();
    cap(facts.network);
    cap(facts.rdma);
}

void count_host(const wire::SampleFacts& facts, wire::Sample& sample) {
    static const auto per_second = std::max(::sysconf(_SC_CLK_TCK), 1L);
    if (const auto busy = parse_busy_ticks(proc("/proc/stat"))) {
        sample.cpu_ms = *busy * 1000 / per_second;
    }
    if (const auto memory = parse_meminfo(proc("/proc/meminfo"))) {
        sample.memory_bytes = memory->total - std::min(memory->available, memory->total);
    }
    count_disks(sample);
    for (const auto& disk : facts.disks) {
        const auto room = room_of(disk.path);
        sample.disk_bytes.push_back(room ? std::optional(room->used) : std::nullopt);
    }
    auto counts = parse_net_dev(proc("/proc/net/dev"));
    for (const auto& name : facts.network) {
        sample.network.push_back(counts[name]);
    }
    for (const auto& port : facts.rdma) {
        sample.rdma.push_back(count_rdma(port));
    }
}

} // namespace dockdist::node
