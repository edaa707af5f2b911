#include "client/check/node_questions.hpp"

#include "client/async/run_all.hpp"
#include "client/check/gpu_rows.hpp"
#include "client/check/partners.hpp"
#include "client/check/software.hpp"
#include "client/report/step.hpp"
#include "shared/core/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

constexpr std::size_t logins_a_round = 4; // of a node, and at a node
constexpr std::chrono::seconds round_limit{20};

std::vector<std::string> names_of(const std::vector<AskedNode>& nodes,
                                  const std::vector<std::size_t>& which) {
    std::vector<std::string> names;
    for (const auto i : which) {
        names.push_back(nodes[i].node->name.str());
    }
    return names;
}

wire::FactsQuestion facts_question(std::size_t asked, const std::vector<AskedNode>& nodes,
                                   const std::vector<std::string>& mounts, const std::string& token) {
    wire::FactsQuestion question{.peers = names_of(nodes, quick_peers(asked, nodes.size())),
                                 .programs = version_questions(),
                                 .mounts = mounts,
                                 .token = token};
    for (std::size_t other = 0; other < nodes.size(); ++other) {
        if (other != asked) {
            question.names.push_back(nodes[other].node->name.str());
        }
    }
    if (asks_for_gpus(nodes[asked].spec->gpus)) {
        std::ranges::move(gpu_questions(nodes[asked].spec->gpus), std::back_inserter(question.programs));
    }
    return question;
}

Task<Status> ask_facts(ContainerEngine& engine, AskedNode& asked, HostName host, wire::FactsQuestion question,
                       const std::function<void()>& answered) {
    auto session = co_await NodeSession::open(engine, *asked.node);
    if (!session) {
        asked.told = session.error();
        answered();
        co_return ok;
    }
    asked.session = std::move(*session);
    auto peers = question.peers;
    auto facts = co_await asked.session->ask(std::move(question));
    if (facts) {
        asked.told = CheckedNode{.name = asked.node->name,
                                 .host = std::move(host),
                                 .peers = std::move(peers),
                                 .facts = std::move(*facts)};
    } else {
        asked.told = facts.error();
    }
    answered();
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

Task<Status> ask_logins(AskedNode& asked, std::vector<std::string> peers) {
    auto& told = *asked.told;
    auto answer = co_await asked.session->ask(wire::LogInsQuestion{.peers = peers}, round_limit);
    std::ranges::move(peers, std::back_inserter(told.peers));
    if (!answer) {
        told.facts.logins = answer.error();
    } else if (told.facts.logins) {
        std::ranges::move(answer->logins, std::back_inserter(*told.facts.logins));
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
                     std::vector<std::string> mounts, std::function<void()> answered) {
    const auto token = random_hex(16);
    std::vector<Task<Status>> tasks;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto& asked = nodes[i];
        auto& engine = *engines[asked.node->host];
        tasks.push_back(ask_facts(engine, asked, spec.hosts[asked.node->host].name,
                                  facts_question(i, nodes, mounts, token), answered));
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

Task<void> ask_further_logins(std::vector<AskedNode>& nodes, Reporter& reporter) {
    const auto rounds = further_rounds(nodes.size(), logins_a_round);
    if (rounds.empty()) {
        co_return;
    }
    Step step(reporter, "logins", "all nodes", "log in to every other");
    for (std::size_t round = 0; round < rounds.size(); ++round) {
        step.progress(fmt::format("log in to every other, round {} of {}", round + 1, rounds.size()), {}, {});
        co_await ask_each(nodes, [&](AskedNode& asked) {
            const auto node = static_cast<std::size_t>(&asked - nodes.data());
            return ask_logins(asked, names_of(nodes, rounds[round][node]));
        });
    }
    step.finished("logged in to every other");
}

} // namespace dockdist
