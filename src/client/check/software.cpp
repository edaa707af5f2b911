#include "client/check/software.hpp"

#include "client/check/compare.hpp"
#include "client/container/same_image.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/launcher.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dockdist {

// Behind python_question's own program: torch/version.py tells for which CUDA it was built, without an import
// of seconds.
extern const char* const cuda_of_torch_py;

namespace {

using State = CheckRow::State;

// Packages of NVIDIA's own, one for each major version of CUDA.
constexpr const char* nccl_packages[] = {"nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"};

// The toolkit's: what the nodes' sshd and the logins between them are.
constexpr const char* openssh = "openssh";
constexpr const char* unknown_version = "no version of the toolkit's OpenSSH";

struct Tool {
    const char* key;   // as the question's answer names it
    const char* title; // as people know it
    bool must_agree;   // ranks that differ in it do not understand each other
};
constexpr Tool tools[] = {{"python", "Python", false},
                          {"torch", "torch", true},
                          {"nccl", "NCCL", true},
                          {"cuda", "CUDA", false},
                          {"mpirun", "MPI", true},
                          {"deepspeed", "DeepSpeed", true},
                          {"accelerate", "accelerate", true},
                          {"horovod", "Horovod", true}};

std::map<std::string, std::string> versions_of_node(const CheckedNode& node) {
    wire::LaunchFacts answers;
    for (const auto& [name, program] : node.facts.programs) {
        if ((name == "python" || name == "mpirun") && program) {
            answers.answers.push_back({.name = name, .code = program->code, .output = program->output});
        }
    }
    auto versions = versions_of(answers);
    auto& nccl = versions["nccl"];
    for (const auto* package : nccl_packages) {
        if (nccl.empty()) {
            nccl = versions[package];
        }
    }
    if (nccl.empty()) {
        nccl = node.facts.nccl ? node.facts.nccl->version : "";
    }
    return versions;
}

// "torch 2.6.0", "Open MPI 5.0.7": MPIs tell their own name.
std::string titled(const Tool& tool, const std::string& version) {
    return std::string(tool.key) == "mpirun" ? version : std::string(tool.title) + " " + version;
}

} // namespace

std::vector<wire::Question> version_questions() {
    std::vector<std::string> modules{"torch", "deepspeed", "accelerate", "horovod"};
    modules.insert(modules.end(), std::begin(nccl_packages), std::end(nccl_packages));
    return {python_question(std::move(modules), cuda_of_torch_py),
            {.name = "mpirun", .argv = {"mpirun", "--version"}},
            {.name = openssh, .argv = {std::string(layout::toolkit) + "/libexec/ssh", "-V"}}};
}

std::vector<CheckRow> judge_versions(const std::vector<CheckedNode>& nodes) {
    std::vector<CheckRow> rows;
    std::string agreed;
    std::vector<std::map<std::string, std::string>> versions;
    std::ranges::transform(nodes, std::back_inserter(versions), versions_of_node);
    for (const auto& tool : tools) {
        const auto none = std::string("no ") + tool.title;
        std::vector<std::pair<std::string, std::string>> values;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto version = printable(versions[i][tool.key]);
            values.emplace_back(nodes[i].name.str(), version.empty() ? none : titled(tool, version));
        }
        const auto odd = find_odd(values);
        if (!odd.others.empty()) {
            const CheckRow model{
                .state = tool.must_agree ? State::fail : State::warn,
                .layer = CheckLayer::container,
                .check = "versions",
                .hint = "give every node the same image: the same tag can be another "
                        "image on another host (`dockdist image push --from HOST`, then `dockdist up`)"};
            std::ranges::move(odd_rows(odd, model), std::back_inserter(rows));
        } else if (odd.common != none) {
            agreed += (agreed.empty() ? "" : ", ") + odd.common;
        }
    }
    if (!agreed.empty()) {
        rows.insert(rows.begin(), {.layer = CheckLayer::container,
                                   .subject = nodes.size() > 1 ? "all nodes" : nodes.front().name.str(),
                                   .check = "versions",
                                   .text = agreed});
    }
    return rows;
}

std::vector<CheckRow> judge_openssh(const std::vector<CheckedNode>& nodes) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto& node : nodes) {
        const auto said = output_of(node, openssh);
        values.emplace_back(node.name.str(),
                            said && said->code == 0 ? first_line(said->output) : unknown_version);
    }
    const auto odd = find_odd(values);
    CheckRow model{.layer = CheckLayer::container, .check = "openssh"};
    std::vector<CheckRow> rows;
    for (const auto& who : odd.with_common) {
        rows.push_back(model);
        rows.back().subject = who;
        rows.back().text = odd.common;
    }
    model.state = State::warn;
    model.hint = "`dockdist up` gives every node the toolkit of this dockdist";
    std::ranges::move(odd_rows(odd, model), std::back_inserter(rows));
    return rows;
}

std::vector<CheckRow> judge_images(const std::vector<std::pair<NodeName, Result<ImageDetails>>>& images) {
    std::vector<CheckRow> rows;
    std::vector<const ImageDetails*> kinds; // one of each image that is there
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto& [node, image] : images) {
        if (!image) {
            rows.push_back(
                {.state = State::warn,
                 .layer = CheckLayer::container,
                 .subject = node.str(),
                 .check = "image",
                 .text = "the image of the running node is not known: " + printable(image.error().message),
                 .hint = "it may have been removed by force: bring it back (`dockdist image "
                         "push --from HOST`), or nodes that are recreated will differ"});
            continue;
        }
        auto known =
            std::ranges::find_if(kinds, [&](const ImageDetails* kind) { return same_image(*kind, *image); });
        if (known == kinds.end()) {
            known = kinds.insert(kinds.end(), &*image);
        }
        values.emplace_back(node.str(), std::to_string(known - kinds.begin()));
    }
    const auto odd = find_odd(values);
    for (const auto& [kind, who] : odd.others) {
        rows.push_back({.state = State::warn,
                        .layer = CheckLayer::container,
                        .subject = list_names(who),
                        .check = "image",
                        .text = "another image than on " + list_names(odd.with_common),
                        .hint = "bring the same image to every host (`dockdist image push --from HOST`), "
                                "then `dockdist up`"});
    }
    if (!odd.with_common.empty() && (rows.empty() || odd.with_common.size() > 1)) {
        rows.push_back(
            {.layer = CheckLayer::container,
             .subject =
                 rows.empty() && odd.with_common.size() > 1 ? "all nodes" : list_names(odd.with_common),
             .check = "image",
             .text = odd.with_common.size() > 1 ? "the same image" : "no other node to compare with"});
    }
    return rows;
}

} // namespace dockdist
