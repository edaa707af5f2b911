#include "shared/gpu/topology.hpp"

#include "shared/core/number.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <optional>
#include <sstream>

namespace dockdist {
namespace {

using Link = Topology::Link;
using Words = std::vector<std::string>;

constexpr int most_gpus = 64;          // of a machine; nvidia-smi's matrix has as many columns
constexpr std::size_t most_tried = 16; // candidates: 12,870 ways to take eight of them

// Some drivers underline the matrix's header, to a terminal or not: ESC [ 4 m … ESC [ 0 m.
std::string without_escapes(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
            i = std::min(text.find_first_not_of("0123456789;", i + 2), text.size());
        } else {
            plain += text[i];
        }
    }
    return plain;
}

Words words_of(const std::string& line) {
    std::istringstream stream(line);
    Words words;
    for (std::string word; stream >> word;) {
        words.push_back(std::move(word));
    }
    return words;
}

std::optional<int> number_of(std::string_view text, int most) {
    const auto value = whole_number<int>(text);
    return value && *value >= 0 && *value <= most ? value : std::nullopt;
}

// 3 of "GPU3".
std::optional<int> gpu_of(std::string_view word) {
    return word.starts_with("GPU") ? number_of(word.substr(3), most_gpus - 1) : std::nullopt;
}

Link link_of(std::string_view cell) {
    constexpr std::array<std::pair<std::string_view, GpuLink>, 6> names{{{"PIX", GpuLink::switch_one},
                                                                         {"PXB", GpuLink::switch_many},
                                                                         {"PHB", GpuLink::host_bridge},
                                                                         {"NODE", GpuLink::numa_node},
                                                                         {"SYS", GpuLink::system},
                                                                         {"SOC", GpuLink::system}}};
    if (cell.starts_with("NV")) {
        const auto links = number_of(cell.substr(2), 1000);
        return links.value_or(0) > 0 ? Link{GpuLink::nvlink, *links} : Link{};
    }
    const auto* const found = std::ranges::find(names, cell, &std::pair<std::string_view, GpuLink>::first);
    return found == names.end() ? Link{} : Link{found->second, 0};
}

// "0-31,64-95 1": the NUMA node is the number after the processors; behind the columns of GPUs and network
// cards nothing else begins with a digit. Cards' cells may stand without a blank between them.
int numa_node_of(const Words& row, std::size_t behind) {
    const auto begins_with_digit = [](const std::string& word) {
        return word.front() >= '0' && word.front() <= '9';
    };
    const auto processors =
        std::find_if(row.begin() + static_cast<std::ptrdiff_t>(std::min(behind, row.size())), row.end(),
                     begins_with_digit);
    return row.end() - processors < 2 ? -1 : number_of(*std::next(processors), 100'000).value_or(-1);
}

void widen(Topology& topology, int index) {
    const auto size = std::max(topology.links.size(), static_cast<std::size_t>(index) + 1);
    topology.links.resize(size);
    for (auto& row : topology.links) {
        row.resize(size);
    }
    topology.numa_node.resize(size, -1);
}

bool is_farther(const Link& one, const Link& other) {
    return one.kind != other.kind ? one.kind > other.kind : one.links < other.links;
}

void make_symmetric(Topology& topology) {
    auto& links = topology.links;
    for (std::size_t i = 0; i < links.size(); ++i) {
        links[i][i] = Link{};
        for (std::size_t j = 0; j < i; ++j) {
            auto& one = links[i][j];
            auto& other = links[j][i];
            const bool take_one =
                other.kind == GpuLink::unknown || (one.kind != GpuLink::unknown && is_farther(one, other));
            one = other = take_one ? one : other;
        }
    }
}

// Roughly GB/s in one direction: an NVLink has 20 to 50 of them, a PCIe bridge 25 to 50, and each step
// farther less.
int worth(const Link& link) {
    switch (link.kind) {
    case GpuLink::nvlink:
        return 40 + 25 * link.links;
    case GpuLink::switch_one:
        return 30;
    case GpuLink::switch_many:
        return 26;
    case GpuLink::host_bridge:
        return 20;
    case GpuLink::numa_node:
        return 16;
    case GpuLink::system:
        return 8;
    default:
        return 0;
    }
}

// What a group of GPUs is worth; the greater is the better.
struct Worth {
    int weakest = std::numeric_limits<int>::max(); // link
    int links = 0;                                 // in all
    int together = 0;                              // pairs that share a NUMA node
    auto operator<=>(const Worth&) const = default;
};

// Of a choice: the group's own worth, and what is left to others.
struct Judged {
    Worth own{};
    int left_links = 0;
    int left_together = 0;
    auto operator<=>(const Judged&) const = default;
};

using Taken = std::vector<char>; // by place among the candidates: whether it is

class Candidates {
public:
    Candidates(const std::vector<int>& indices, const Topology& topology) : size_(indices.size()) {
        for (const auto one : indices) {
            for (const auto other : indices) {
                pairs_.push_back(
                    {worth(topology.between(one, other)), topology.on_one_numa_node(one, other) ? 1 : 0});
            }
        }
    }

    std::size_t size() const { return size_; }

    Judged judge(const Taken& taken) const {
        Judged judged;
        for (std::size_t i = 0; i < size_; ++i) {
            for (std::size_t j = i + 1; j < size_; ++j) {
                const auto& pair = pairs_[i * size_ + j];
                if (taken[i] != 0 && taken[j] != 0) {
                    judged.own.weakest = std::min(judged.own.weakest, pair.worth);
                    judged.own.links += pair.worth;
                    judged.own.together += pair.together;
                } else if (taken[i] == 0 && taken[j] == 0) {
                    judged.left_links += pair.worth;
                    judged.left_together += pair.together;
                }
            }
        }
        return judged;
    }

private:
    struct Pair {
        int worth = 0;
        int together = 0;
    };
    std::size_t size_;
    std::vector<Pair> pairs_{}; // a row for each
};

// In lexical order, so that of equal ones the lowest come first.
Taken best_of_all(std::size_t count, const Candidates& candidates) {
    Taken taken(candidates.size());
    std::fill_n(taken.begin(), count, 1);
    auto best = taken;
    auto best_judged = candidates.judge(best);
    while (std::ranges::prev_permutation(taken).found) {
        if (const auto judged = candidates.judge(taken); judged > best_judged) {
            best = taken;
            best_judged = judged;
        }
    }
    return best;
}

// Adds the nearest, one after the other.
Taken grown_from(std::size_t seed, std::size_t count, const Candidates& candidates) {
    Taken taken(candidates.size());
    taken[seed] = 1;
    for (std::size_t members = 1; members < count; ++members) {
        auto best = taken.size(); // none yet
        Judged best_judged;
        for (std::size_t i = 0; i < taken.size(); ++i) {
            if (taken[i] == 0) {
                taken[i] = 1;
                if (const auto judged = candidates.judge(taken);
                    best == taken.size() || judged > best_judged) {
                    best = i;
                    best_judged = judged;
                }
                taken[i] = 0;
            }
        }
        taken[best] = 1;
    }
    return taken;
}

Taken best_grown(std::size_t count, const Candidates& candidates) {
    auto best = grown_from(0, count, candidates);
    auto best_judged = candidates.judge(best);
    for (std::size_t seed = 1; seed < candidates.size(); ++seed) {
        auto taken = grown_from(seed, count, candidates);
        if (const auto judged = candidates.judge(taken); judged > best_judged) {
            best = std::move(taken);
            best_judged = judged;
        }
    }
    return best;
}

std::string in_common(const std::vector<int>& group, const Topology& topology) {
    auto farthest = GpuLink::nvlink;
    bool one_numa_node = true;
    for (std::size_t i = 0; i < group.size(); ++i) {
        for (std::size_t j = i + 1; j < group.size(); ++j) {
            farthest = std::max(farthest, topology.between(group[i], group[j]).kind);
            one_numa_node = one_numa_node && topology.on_one_numa_node(group[i], group[j]);
        }
    }
    if (group.size() < 2) {
        return "";
    }
    switch (farthest) {
    case GpuLink::nvlink:
        return "NVLink";
    case GpuLink::switch_one:
        return "one PCIe switch";
    case GpuLink::switch_many:
        return "PCIe switches";
    case GpuLink::host_bridge:
    case GpuLink::numa_node:
        return "the same NUMA node";
    case GpuLink::system:
        return "different NUMA nodes";
    default:
        return one_numa_node ? "the same NUMA node" : "";
    }
}

} // namespace

Topology::Link Topology::between(int one, int other) const {
    const auto size = static_cast<int>(links.size());
    const bool known = one >= 0 && other >= 0 && one < size && other < size;
    return known ? links[static_cast<std::size_t>(one)][static_cast<std::size_t>(other)] : Link{};
}

bool Topology::on_one_numa_node(int one, int other) const {
    const auto node = [&](int index) {
        return index >= 0 && index < static_cast<int>(numa_node.size())
                   ? numa_node[static_cast<std::size_t>(index)]
                   : -1;
    };
    return node(one) >= 0 && node(one) == node(other);
}

Topology parse_topology(std::string_view text) {
    Topology topology;
    std::vector<int> columns; // the GPUs that the header names
    std::istringstream stream(without_escapes(text));
    for (std::string line; std::getline(stream, line);) {
        const auto words = words_of(line);
        const auto gpu = words.empty() ? std::nullopt : gpu_of(words.front());
        if (columns.empty()) {
            for (auto word = words.begin(); word != words.end() && gpu_of(*word); ++word) {
                columns.push_back(*gpu_of(*word));
                widen(topology, columns.back());
            }
        } else if (gpu && *gpu < static_cast<int>(topology.links.size())) {
            auto& row = topology.links[static_cast<std::size_t>(*gpu)];
            for (std::size_t i = 0; i < columns.size() && i + 1 < words.size(); ++i) {
                row[static_cast<std::size_t>(columns[i])] = link_of(words[i + 1]);
            }
            topology.numa_node[static_cast<std::size_t>(*gpu)] = numa_node_of(words, columns.size() + 1);
        }
    }
    make_symmetric(topology);
    return topology;
}

GpuChoice choose_gpus(std::size_t count, std::span<const int> candidates, const Topology& topology) {
    std::vector<int> sorted(candidates.begin(), candidates.end());
    std::ranges::sort(sorted);
    GpuChoice choice;
    if (topology.empty() || count == 0 || count >= sorted.size()) {
        sorted.resize(std::min(count, sorted.size()));
        choice.indices = std::move(sorted);
    } else {
        const Candidates among(sorted, topology);
        const auto taken = sorted.size() <= most_tried ? best_of_all(count, among) : best_grown(count, among);
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            if (taken[i] != 0) {
                choice.indices.push_back(sorted[i]);
            }
        }
    }
    choice.together = in_common(choice.indices, topology);
    return choice;
}

} // namespace dockdist
