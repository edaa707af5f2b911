#include "check/node_questions.hpp"

#include "async/run_all.hpp"
#include "check/gpu_rows.hpp"
#include "check/software.hpp"
#include "core/random.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

using nlohmann::json;

json facts_question(const AskedNode& asked, const std::vector<AskedNode>& nodes,
                    const std::vector<std::string>& mounts, const std::string& token) {
    json question{
        {"peers", json::array()}, {"programs", json::array()}, {"mounts", mounts}, {"token", token}};
    for (const auto& other : nodes) {
        if (&other != &asked) {
            question["peers"].push_back(other.node->name.str());
        }
    }
    auto programs = version_questions();
    if (asks_for_gpus(asked.spec->gpus)) {
        auto more = gpu_questions();
        programs.insert(programs.end(), more.begin(), more.end());
    }
    for (const auto& program : programs) {
        question["programs"].push_back({{"name", program.name}, {"argv", program.argv}});
    }
    return question;
}

Task<Status> ask_facts(ContainerEngine& engine, AskedNode& asked, HostName host, json question) {
    auto session = co_await NodeSession::open(engine, *asked.node);
    if (!session) {
        asked.facts = session.error();
        co_return ok;
    }
    asked.session = std::move(*session);
    const auto answer = co_await asked.session->ask("facts", std::move(question));
    if (!answer) {
        asked.facts = answer.error();
        co_return ok;
    }
    asked.facts = parse_facts(answer->body);
    asked.facts->node = asked.node->name;
    asked.facts->host = std::move(host);
    co_return ok;
}

Task<Status> ask_image(ContainerEngine& engine, AskedNode& asked) {
    asked.image = co_await engine.inspect_image(ImageRef(asked.image_id));
    co_return ok;
}

Task<Status> look_for_tokens(AskedNode& asked, json question) {
    const auto answer = co_await asked.session->ask("look", std::move(question));
    if (answer) {
        asked.facts->seen_tokens = parse_seen(answer->body);
    }
    co_return ok;
}

Task<Status> forget_tokens(AskedNode& asked) {
    (void)co_await asked.session->ask("forget");
    co_return ok;
}

// A node that did not answer is asked no more.
template <class Question>
Task<void> ask_each(std::vector<AskedNode>& nodes, Question question) {
    std::vector<Task<Status>> tasks;
    for (auto& asked : nodes) {
        if (asked.session && asked.facts) {
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
    json look{{"mounts", mounts}, {"token", token}, {"nodes", json::array()}};
    for (const auto& asked : nodes) {
        look["nodes"].push_back(asked.node->name.str());
    }
    co_await ask_each(nodes, [&](AskedNode& asked) { return look_for_tokens(asked, look); });
    co_await ask_each(nodes, [](AskedNode& asked) { return forget_tokens(asked); });
}

} // namespace dockdist
