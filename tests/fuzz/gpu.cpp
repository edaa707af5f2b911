// What nvidia-smi tells of a machine's GPUs: their states, their MIG instances, how they are linked; and
// which of them are taken together. The board of a host, which any of its nodes may have written; what a node
// reports of it; and what a user names.
#include "shared/gpu/gpu.hpp"

#include "fuzz/fuzz.hpp"
#include "shared/gpu/board.hpp"
#include "shared/gpu/fabric.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/gpu/topology.hpp"
#include "shared/gpu/units.hpp"

#include <array>
#include <cmath>

namespace {

using namespace dockdist;

void states(std::string_view csv) {
    const auto is_sound = [](const std::optional<double>& value) { return !value || std::isfinite(*value); };
    if (const auto gpus = parse_gpus(csv)) {
        for (const auto& gpu : *gpus) {
            fuzz::require(gpu.index >= 0 && !gpu.uuid.starts_with('['), "a GPU has a name or none");
            fuzz::require(gpu.uuid.find_first_of(",\n") == std::string::npos &&
                              gpu.name.find_first_of(",\n") == std::string::npos,
                          "a field is one field");
            fuzz::require(is_sound(gpu.memory_used_mib) && is_sound(gpu.memory_total_mib) &&
                              is_sound(gpu.utilization_percent) && is_sound(gpu.power_w),
                          "a number is one");
        }
    } else {
        fuzz::require(fuzz::has_no_controls(gpus.error().message), "no message has controls in it");
    }
    for (const auto& line : lost_gpus(csv)) {
        fuzz::require(line.find('\n') == std::string::npos, "a lost GPU is one line");
    }
    (void)parse_cuda_version(csv);
}

void listing(std::string_view text) {
    const auto instances = parse_mig(text);
    const auto count = count_listed_gpus(text);
    fuzz::require(count >= static_cast<int>(instances.size()) && count <= static_cast<int>(text.size()),
                  "there are no more GPUs than lines, and no fewer than instances");
    for (const auto& instance : instances) {
        fuzz::require(!instance.uuid.empty() && instance.uuid.find_first_of(")\n") == std::string::npos &&
                          instance.gpu >= 0 && instance.index >= 0,
                      "an instance has a name and a GPU");
    }
}

// The first byte says how many are wanted, the next two which are there.
void topology(std::string_view input) {
    fuzz::Choices choices(input);
    const auto wanted = choices.below(17);
    std::vector<int> candidates;
    for (int half = 0; half < 2; ++half) {
        const auto bits = choices.below(256);
        for (int bit = 0; bit < 8; ++bit) {
            if ((bits >> static_cast<unsigned>(bit) & 1U) != 0) {
                candidates.push_back(half * 8 + bit);
            }
        }
    }
    const auto links = parse_topology(choices.rest());
    fuzz::require(links.links.size() <= 64 && links.numa_node.size() == links.links.size(), "it is bounded");
    for (std::size_t i = 0; i < links.links.size(); ++i) {
        fuzz::require(links.links[i].size() == links.links.size(), "it is square");
        for (std::size_t j = 0; j < i; ++j) {
            fuzz::require(links.links[i][j] == links.links[j][i], "it is symmetric");
        }
    }
    const auto choice = choose_gpus(wanted, candidates, links);
    fuzz::require(choice.indices.size() == std::min(wanted, candidates.size()), "as many as were asked for");
    fuzz::require(std::ranges::includes(candidates, choice.indices) &&
                      std::ranges::adjacent_find(choice.indices) == choice.indices.end(),
                  "of those that are there, each once");
}

bool holds(const BoardEntry& entry, const std::string& id) {
    return std::ranges::find(entry.units, id, &wire::GpuUnit::id) != entry.units.end();
}

void board(std::string_view text) {
    const auto read = parse_board(text);
    if (!read) {
        fuzz::require(fuzz::has_no_controls(read.error().message), "no message has controls in it");
        return;
    }
    const auto again = parse_board(board_text(*read));
    fuzz::require(again.has_value() && *again == *read, "what was read says the same when it is written");
    for (const auto& own : read->entries) {
        if (!own.units.empty()) {
            continue;
        }
        const auto verdict = decide(*read, own);
        fuzz::require(verdict.fits == (verdict.free.size() >= static_cast<std::size_t>(own.wanted)),
                      "it fits when there is enough");
        fuzz::require(verdict.place == static_cast<int>(verdict.ahead.size()) + 1, "the place is a place");
        for (const auto& id : verdict.free) {
            fuzz::require(std::ranges::find(own.candidates, id) != own.candidates.end() &&
                              std::ranges::none_of(read->entries,
                                                   [&](const BoardEntry& one) { return holds(one, id); }),
                          "what is free is a candidate, and nobody's");
        }
    }
}

void report(std::string_view line) {
    if (const auto read = wire::parse_gpu_report(line)) {
        const auto text = wire::gpu_report_line(*read);
        const auto again = wire::parse_gpu_report(text);
        fuzz::require(again.has_value(), "what was read can be sent again");
        fuzz::require_equal(text, wire::gpu_report_line(*again), "and says the same");
    }
}

void users_gpus(std::string_view variable) {
    const auto units =
        units_of({.gpus = {{.index = 0, .uuid = "GPU-aa"}, {.index = 1, .uuid = "GPU-ab", .mig = true}},
                  .instances = {{.uuid = "MIG-b", .gpu = 1}, {.uuid = "MIG-GPU-ab/1/0", .gpu = 1}}});
    const auto named = named_units(variable, units).units;
    fuzz::require(named.size() <= units.size(), "each is named once");
    fuzz::require(named_units(visible_devices(named), units).units == named, "and by its own name too");
}

// What `nvidia-smi -q` says of the fabric.
void fabric(std::string_view text) {
    if (const auto read = parse_fabric(text)) {
        fuzz::require(!read->state.empty(), "a fabric is in some state");
        for (const auto* field : {&read->state, &read->status, &read->clique, &read->cluster}) {
            fuzz::require(field->find('\n') == std::string::npos, "a field is of one line");
        }
    }
}

// What AMD's driver says of a GPU, and of its memory's errors.
void amd(std::string_view text) {
    if (const auto read = parse_kfd(text)) {
        fuzz::require(read->uuid.empty() || is_amd_uuid(read->uuid), "it has ROCm's name, or none");
        fuzz::require(read->render_minor > 0 && read->kind.size() < 40, "it is bounded");
    }
    (void)parse_ras(text);
}

constexpr std::array<fuzz::Read, 8> kinds{states, listing, topology, board, report, users_gpus, fabric, amd};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    const std::string matrix =
        "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
        "GPU0\t X \tNV18\tPIX\tSYS\tPIX\t0-55,112-167\t0\t\tN/A\n"
        "GPU1\tNV18\t X \tPXB\tNODE\tNODE\t0-55,112-167\t0\t\tN/A\n"
        "GPU2\tPIX\tPXB\t X \tPHB\tSYS\t56-111,168-223\t1\t\tN/A\n"
        "GPU3\tSYS\tNODE\tPHB\t X \tNODENODE\t56-111,168-223\t1\t\tN/A\n"
        "NIC0\tPIX\tNODE\tSYS\tSYS\t X \n\nLegend:\n\n  X    = Self\n";
    return {of_kind(0,
                    "0, GPU-aa, NVIDIA H100 80GB HBM3, 1, 81559, 0, 31, 69.52, 550.127.08, Disabled, 2\n"
                    "1, GPU-bb, NVIDIA A100, [N/A], [Insufficient Permissions], [N/A], 47, 62, 535.161.08, "
                    "Enabled, [N/A]\n"),
            of_kind(0, "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n"
                       "1, [Unknown Error], x, 5, 81559, 0, 31, 69, 550.127.08, Disabled, 0\n"),
            of_kind(0, "| NVIDIA-SMI 550.127.08   Driver Version: 550.127.08   CUDA Version: 12.4 |\n"),
            of_kind(1, "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aa)\n"
                       "  MIG 3g.40gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)\n"
                       "  MIG 1c.3g.20gb  Device  1: (UUID: MIG-GPU-aa/1/0)\nGPU 1: x\n"),
            of_kind(2, "\2\17\1" + matrix),
            of_kind(2, "\3\xff\xff" + matrix),
            of_kind(3, R"({"last_number":2,"last_id":3,"entries":[
{"id":1,"who":{"cluster":"c","node":"n","job":"j","owner":"me@here"},"since_ms":5,"units":[{"id":"a","index":0}]},
{"id":2,"wanted":1,"candidates":["a","b"],"priority":1,"number":1,"final":true},
{"id":3,"wanted":2,"candidates":["b",{"hex":"ff"}],"number":2}]})"),
            of_kind(4, R"({"driver":"550.1","units":[{"unit":{"id":"a","index":0,"name":"x"},"power_w":70.5,
"hold":{"unit":{"id":"a"},"by":{"job":"j","age_s":5},"outside":true}}],"line":[{"who":{"job":"k"},"wanted":2}],
"topology":"x","problem":""})"),
            of_kind(5, "0,GPU-ab"),
            of_kind(5, "MIG-b,-1"),
            of_kind(5, ""),
            of_kind(6, "GPU 0\n    Fabric\n        State : Completed\n        Status : Success\n"
                       "        CliqueId : 1\n        ClusterUUID : 67b8e05c-a0a6-4a3e-9b8d-2f0f5b7d9f11\n"
                       "    Processes : None\n"),
            of_kind(7, "simd_count 1216\ngfx_target_version 90402\nvendor_id 4098\ndrm_render_minor 128\n"
                       "unique_id 10683493184402157354\nue: 3\n")};
}
