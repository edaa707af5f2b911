// What programs of an image and drivers say of themselves: nvidia-smi, NCCL's log, versions, the kernel's
// log, /proc; and what a check makes of it.
#include "client/check/gpu_rows.hpp"
#include "client/check/software.hpp"
#include "fuzz/fuzz.hpp"
#include "node/check/kernel.hpp"
#include "node/system/nccl_library.hpp"
#include "node/system/process_stat.hpp"
#include "probe/nccl_log.hpp"
#include "probe/order.hpp"
#include "shared/launch/launcher.hpp"

#include <array>
#include <limits>

namespace {

using namespace dockdist;

void judged(const std::vector<CheckRow>& rows) {
    fuzz::require(rows.size() < 100, "rows stay few");
    for (const auto& row : rows) {
        fuzz::require(fuzz::has_no_controls(row.text) && fuzz::has_no_controls(row.hint) &&
                          fuzz::has_no_controls(row.subject),
                      "no row has controls in it");
        fuzz::require(!row.check.empty() && !row.subject.empty(), "a row says what it is about");
    }
}

std::vector<CheckedNode> two_nodes(const std::vector<wire::Question>& questions, const std::string& said,
                                   const std::string& other) {
    std::vector<CheckedNode> nodes(2);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].name = NodeName("node-" + std::to_string(i));
        nodes[i].host = HostName("host-" + std::to_string(i));
        for (const auto& question : questions) {
            nodes[i].facts.programs.insert_or_assign(
                question.name, wire::ProgramOutput{.code = static_cast<int>(said.size() % 7 == 6),
                                                   .output = i == 0 ? said : other});
        }
    }
    return nodes;
}

// One output for each of the questions, in their order.
void gpus(std::string_view text) {
    const auto questions = gpu_questions({});
    auto nodes =
        two_nodes(questions, "", "0, GPU-aa, NVIDIA H100, 1, 81559, 0, 31, 69, 550.127.08, Disabled, 0\n");
    const auto said = fuzz::parts(text, questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) {
        nodes[0].facts.programs.insert_or_assign(questions[i].name, wire::ProgramOutput{.output = said[i]});
    }
    const std::vector<NodeSpec> wanted{{.name = nodes[0].name},
                                       {.name = nodes[1].name, .rank = 1, .host = 1}};
    const auto found = judge_gpus(nodes, wanted);
    judged(found.rows);
    for (const auto& node : found.gpus) {
        for (const auto& gpu : node.gpus) {
            fuzz::require(gpu.name.find('\n') == std::string::npos &&
                              gpu.uuid.find('\n') == std::string::npos,
                          "a GPU is one line");
        }
    }
}

void versions(std::string_view text) {
    const auto both = fuzz::parts(text, 2);
    judged(judge_versions(two_nodes(version_questions(), both[0], both[1])));
    wire::LaunchFacts facts;
    for (const auto& question : version_questions()) {
        facts.answers.push_back({.name = question.name, .output = both[0]});
    }
    for (const auto& [name, version] : versions_of(facts)) {
        fuzz::require(name.find('\n') == std::string::npos && version.find('\n') == std::string::npos,
                      "a version is one line");
    }
}

void nccl(std::string_view text) {
    const auto log = probe::parse_nccl_log(text);
    fuzz::require(log.warnings.size() <= 10, "ten warnings are kept");
    fuzz::require(log.transports.size() <= text.size() && log.interfaces.size() <= text.size(),
                  "no more is read than is there");
    for (const auto& transport : log.transports) {
        fuzz::require(transport.connections > 0 && !transport.kind.empty(), "a transport has connections");
    }
}

void kernel(std::string_view text) {
    for (const auto& xid : node::parse_xids(text)) {
        fuzz::require(!xid.gpu.empty() && xid.gpu.find('\n') == std::string::npos, "an error is of a GPU");
    }
    (void)node::version_in_name(text);
    if (const auto stat = node::parse_process_stat(text)) {
        (void)stat->has_ended();
    }
}

void order(std::string_view line) {
    if (const auto order = probe::parse_order(line)) {
        fuzz::require(order->world_size >= 1 && order->rank >= 0 && order->rank < order->world_size,
                      "a rank is one of its world");
        fuzz::require(order->iterations >= 1 && order->warm_up >= 0 && order->deadline_ms > 0,
                      "an order can be followed");
        fuzz::require(order->sizes.size() <= 10'000, "there is a bound to the sizes");
    }
    (void)probe::parse_id(line);
}

constexpr std::array<fuzz::Read, 5> kinds{gpus, versions, nccl, kernel, order};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    const std::string gpu =
        "0, GPU-aa, NVIDIA H100, 1, 81559, 0, 31, 69, 550.127.08, Disabled, 3\n1, GPU-bb, "
        "NVIDIA H100, [N/A], 81559, 0, 31, 69, 550.127.08, [N/A], [N/A]\n";
    const std::string table = "| NVIDIA-SMI 550.127.08   Driver Version: 550.127.08   CUDA Version: 12.4 |\n";
    const std::string remaps = "GPU-aa, 0, 0, No, No\nGPU-bb, 1, 1, Yes, Yes\n";
    for (const auto& order : std::vector<std::vector<std::string>>{
             {remaps, "GPU-aa, 1234, 5000\n", gpu, table},
             {gpu, gpu, gpu, table},
             {"", "", "GPU 0: NVIDIA H100 (UUID: GPU-aa)\n", "No devices were found\n"}}) {
        all.push_back(of_kind(0, of_parts(order)));
    }
    const std::string python = "python 3.11.9\ntorch 2.6.0+cu124\ndeepspeed \naccelerate "
                               "1.15.0\nnvidia-nccl-cu12 2.21.5\ncuda 12.4\n";
    all.push_back(of_kind(1, of_parts({python, "python 3.10.1\n"})));
    all.push_back(of_kind(1, of_parts({"mpirun (Open MPI) 5.0.7\n\nReport bugs\n",
                                       "HYDRA build details:\n    Version: 4.0\n"})));
    all.push_back(
        of_kind(2, "NCCL version 2.19.3+cuda12.3\n"
                   "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_10:1/RoCE [1]mlx5_11:1/IB [RO]; OOB "
                   "eth0:11.1.128.136<0>\n"
                   "h:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>\n"
                   "h:1:2 [0] NCCL INFO NET/IB : No device found.\nh:1:2 [0] NCCL INFO Using network IB\n"
                   "h:1:3 [1] NCCL INFO Channel 00/0 : 1[1] -> 3[1] [receive] via NET/IB/2/GDRDMA\n"
                   "h:1:3 [1] NCCL INFO Channel 00/0 : 3[1] -> 2[0] via P2P/CUMEM\n"
                   "\nh:1:2 [0] misc/socket.cc:50 NCCL WARN no way\n"));
    all.push_back(
        of_kind(3, "4,2,3,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus\n"));
    all.push_back(of_kind(3, "/usr/lib/libnccl.so.2.21.5"));
    all.push_back(of_kind(3, "12 (a (b) c) S 1 12 12 0 -1 4194560 1 2 3 4 55 66 7 8 20 0 9 0 100 1000 10 0"));
    all.push_back(of_kind(
        4,
        R"({"rank":0,"world_size":2,"device":0,"deadline_ms":60000,"first_bytes":1024,"last_bytes":8589934592,)"
        R"("factor":4,"operations":["all_reduce"],"types":["float","bf16"],"iterations":20,"warm_up":5})"));
    all.push_back(of_kind(
        4, R"({"rank":1,"world_size":2,"deadline_ms":1,"sizes":[1,2],"series_ms":5,"id":{"hex":"00ff"}})"));
    return all;
}
