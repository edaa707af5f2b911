#include "node/system/hearers.hpp"

#include "node/system/os.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <map>
#include <sys/prctl.h>

namespace dockdist::node {
namespace {

constexpr std::string_view own_front_for_lines = "srun"; // it hands on what it is told

Hearer::Kind kind_of(const ProcessStat& process, const std::string& program) {
    static const auto own = read_link("/proc/self/exe");
    constexpr std::array<std::string_view, 8> shells{"sh",  "bash", "dash", "ash",
                                                     "zsh", "ksh",  "mksh", "busybox"};
    if (program == own) {
        return process.name == rank_gate || process.name == step_gate ? Hearer::Kind::gate
               : process.name == own_front_for_lines                  ? Hearer::Kind::other
                                                                      : Hearer::Kind::passer;
    }
    const auto name = std::string_view(program).substr(program.rfind('/') + 1);
    return std::ranges::find(shells, name) != shells.end() ? Hearer::Kind::shell : Hearer::Kind::other;
}

// What a shell without job control starts with "&" hears no Ctrl-C and no Ctrl-\: it is not waited for.
bool runs_in_background(const Hearer& child) {
    return !child.hears(SIGQUIT);
}

// Whether what `parent` is told does not reach `child`, which is to be told itself.
bool passes(const Hearer& parent, const Hearer& child, int signal) {
    return parent.kind != Hearer::Kind::gate &&
           (parent.kind == Hearer::Kind::passer || !parent.hears(signal) ||
            (parent.kind == Hearer::Kind::shell && parent.catches(signal) && !runs_in_background(child)));
}

// Who is whose child. Each is looked at once, however many they are and however deep they stand.
class Family {
public:
    explicit Family(const std::vector<Hearer>& members) : members_(members) {
        for (const auto& member : members) {
            pids_.insert(member.pid);
            children_.emplace(member.parent, &member);
        }
    }
    bool contains(pid_t pid) const { return pids_.contains(pid); }
    // From those that are `first` on, to the children for which `and_then(parent, child)`.
    template <class First, class Then>
    void descend(First first, Then and_then) const {
        std::vector<const Hearer*> next;
        for (const auto& member : members_) {
            if (first(member)) {
                next.push_back(&member);
            }
        }
        while (!next.empty()) {
            const auto& parent = *next.back();
            next.pop_back();
            const auto [begin, end] = children_.equal_range(parent.pid);
            for (auto child = begin; child != end; ++child) {
                if (and_then(parent, *child->second)) {
                    next.push_back(child->second);
                }
            }
        }
    }

private:
    const std::vector<Hearer>& members_;
    std::set<pid_t> pids_{};
    std::multimap<pid_t, const Hearer*> children_{};
};

} // namespace

void become_gate(const char* name) {
    ::prctl(PR_SET_NAME, name);
}

std::uint64_t signal_set(std::string_view status, std::string_view name) {
    const auto at = status.find(std::string(name) + ":\t");
    std::uint64_t set = 0;
    if (at != std::string_view::npos) {
        (void)std::from_chars(status.data() + at + name.size() + 2, status.data() + status.size(), set, 16);
    }
    return set;
}

Hearer look_at(const ProcessStat& process) {
    const auto folder = "/proc/" + std::to_string(process.pid);
    const auto status = read_file_or_empty(folder + "/status");
    Hearer hearer{.pid = process.pid,
                  .parent = process.parent,
                  .group = process.group,
                  .ignored = signal_set(status, "SigIgn"),
                  .caught = signal_set(status, "SigCgt"),
                  .started_ticks = process.started_ticks,
                  .program = read_link(folder + "/exe")};
    hearer.kind = kind_of(process, hearer.program);
    return hearer;
}

std::set<pid_t> below_gates(const std::vector<Hearer>& members) {
    const Family family(members);
    std::set<pid_t> below;
    family.descend([](const Hearer& member) { return member.kind == Hearer::Kind::gate; },
                   [&](const Hearer&, const Hearer& child) { return below.insert(child.pid).second; });
    return below;
}

std::set<pid_t> select_hearers(const std::vector<Hearer>& members, int signal) {
    const Family family(members);
    const auto below = below_gates(members);
    std::set<pid_t> hearers;
    family.descend(
        [&](const Hearer& member) {
            const bool first = member.kind == Hearer::Kind::gate ||
                               (!family.contains(member.parent) && !below.contains(member.pid));
            return first && hearers.insert(member.pid).second;
        },
        [&](const Hearer& parent, const Hearer& child) {
            return passes(parent, child, signal) && hearers.insert(child.pid).second;
        });
    return hearers;
}

} // namespace dockdist::node
