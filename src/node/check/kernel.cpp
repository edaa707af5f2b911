#include "node/check/kernel.hpp"

#include "node/job/job_store.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/rdma_ports.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::string first_line(const std::string& path) {
    const auto text = read_file_or_empty(path);
    return printable(text.substr(0, text.find('\n')));
}

std::optional<wire::Room> room(const char* path) {
    struct statvfs about{};
    if (::statvfs(under_root(path).c_str(), &about) != 0) {
        return std::nullopt;
    }
    return wire::Room{Bytes{about.f_bavail * about.f_frsize}, Bytes{about.f_blocks * about.f_frsize}};
}

std::map<std::string, int> governors() {
    std::map<std::string, int> counts;
    const auto folder = under_root("/sys/devices/system/cpu");
    for (const auto& cpu : list_folder(folder)) {
        if (!cpu.starts_with("cpu") || cpu.size() == 3 ||
            std::isdigit(static_cast<unsigned char>(cpu[3])) == 0) {
            continue;
        }
        const auto governor = first_line(folder + "/" + cpu + "/cpufreq/scaling_governor");
        if (!governor.empty()) {
            ++counts[governor];
        }
    }
    return counts;
}

// Every record that is there now; nothing where the log may not be read.
std::optional<std::string> kernel_log() {
    const Fd log(::open(under_root("/dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    if (!log.open()) {
        return std::nullopt;
    }
    std::string text;
    char record[8192]; // one a read
    while (text.size() < (8U << 20U)) {
        const auto count = ::read(log.get(), record, sizeof record);
        if (count > 0) {
            text.append(record, static_cast<std::size_t>(count));
        } else if (count == 0 || (errno != EPIPE && errno != EINTR)) { // EPIPE: a record was overwritten
            break;
        }
    }
    return text;
}

} // namespace

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=…"
std::vector<wire::XidError> parse_xids(std::string_view kernel_log) {
    constexpr std::string_view title = "NVRM: Xid (PCI:";
    std::vector<wire::XidError> xids;
    for (auto at = kernel_log.find(title); at != std::string_view::npos;
         at = kernel_log.find(title, at + 1)) {
        const auto rest = kernel_log.substr(at + title.size(), 64);
        const auto end = rest.find("): ");
        if (end == std::string_view::npos || end == 0) { // it names no GPU
            continue;
        }
        wire::XidError xid{.gpu = printable(rest.substr(0, end))};
        const auto number = rest.substr(end + 3);
        const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), xid.code);
        if (error == std::errc{} && std::ranges::find(xids, xid) == xids.end()) {
            xids.push_back(std::move(xid));
        }
    }
    return xids;
}

wire::SystemFacts system_facts() {
    utsname name{};
    ::uname(&name);
    wire::SystemFacts facts{.machine = name.machine,
                            .disk = room("/"),
                            .shm = room("/dev/shm"),
                            .governors = governors(),
                            .rdma = rdma_ports_of_host(),
                            .rdma_inside = has_rdma_devices()};
    if (const auto log = kernel_log()) {
        facts.xids = parse_xids(*log);
    }
    for (const auto& job : job_ids()) {
        if (is_running(job)) {
            facts.jobs.push_back(job);
        }
    }
    return facts;
}

} // namespace dockdist::node
