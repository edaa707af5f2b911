#include "check/node_questions.hpp"

#include "async/run_all.hpp"
#include "check/gpu_rows.hpp"
#include "check/software.hpp"
#include "core/random.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

wire::FactsQuestion facts_question(const AskedNode& asked, const std::vector<AskedNode>& nodes,
                                   const std::vector<std::string>& mounts, const std::string& token) {
    wire::FactsQuestion question{.programs = version_questions(), .mounts = mounts, .token = token};
    for (const auto& other : nodes) {
        if (&other != &asked) {
            question.peers.push_back(other.node->name.str());
        }
    }
    if (asks_for_gpus(asked.spec->gpus)) {
        std::ranges::move(gpu_questions(), std::back_inserter(question.programs));
    }
    return question;
}

Task<Status> ask_facts(ContainerEngine& engine, AskedNode& asked, HostName host,
                       wire::FactsQuestion question) {
    auto session = co_await NodeSession::open(engine, *asked.node);
    if (!session) {
        asked.told = session.error();
        co_return ok;
    }
    asked.session = std::move(*session);
    auto facts = co_await asked.session->ask(std::move(question));
    if (facts) {
        asked.told =
            CheckedNode{.name = asked.node->name, .host = std::move(host), .facts = std::move(*facts)};
    } else {
        asked.told = facts.error();
    }
    co_return ok;
}

Task<Status> ask_image(ContainerEngine& engine, AskedNode& asked) {
    asked.image = co_await engine.inspect_image(ImageRef(asked.image_id));
    co_return ok;
}

Task<Status> look_for_tokens(AskedNode& asked, wire::LookForTokens question) {
    const auto answer = co_await asked.session->ask(std::move(question));
    if (answer) {
        for (const auto& [folder, nodes] : answer->seen) {
            if (nodes) {
                asked.told->seen_tokens.insert_or_assign(folder, *nodes);
            }
        }
    }
    co_return ok;
}

Task<Status> forget_tokens(AskedNode& asked) {
    (void)co_await asked.session->ask(wire::ForgetTokens{});
    co_return ok;
}

// A node that did not answer is asked no more.
template <class Question>
Task<void> ask_each(std::vector<AskedNode>& nodes, Question question) {
    std::vector<Task<Status>> tasks;
    for (auto& asked : nodes) {
        if (asked.session && asked.told) {
            tasks.push_back(question(asked));
        }
    }
    co_await run_all(std::move(tasks));
}

} // namespace

Task<void> ask_nodes(const ClusterSpec& spec, const Engines& engines, std::vector<AskedNode>& nodes,
                     std::vector<std::string> mounts) {
    const auto token = random_hex(16);
    std::vector<Task<Status>> tasks;
    for (auto& asked : nodes) {
        auto& engine = *engines[asked.node->host];
        tasks.push_back(ask_facts(engine, asked, spec.hosts[asked.node->host].name,
                                  facts_question(asked, nodes, mounts, token)));
        tasks.push_back(ask_image(engine, asked));
    }
    co_await run_all(std::move(tasks));
    if (mounts.empty()) {
        co_return;
    }
    wire::LookForTokens look{.mounts = mounts, .token = token};
    for (const auto& asked : nodes) {
        look.nodes.push_back(asked.node->name.str());
    }
    co_await ask_each(nodes, [&](AskedNode& asked) { return look_for_tokens(asked, look); });
    co_await ask_each(nodes, [](AskedNode& asked) { return forget_tokens(asked); });
}

} // namespace dockdist
