#include "node/check/facts.hpp"

#include "node/check/interface.hpp"
#include "node/check/kernel.hpp"
#include "node/check/limits.hpp"
#include "node/check/mounts.hpp"
#include "node/check/names.hpp"
#include "node/check/peers.hpp"
#include "node/session/session.hpp"
#include "node/system/helper.hpp"
#include "node/system/nccl_library.hpp"
#include "node/system/process.hpp"
#include "node/system/side_by_side.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/wire/partial.hpp"

#include <algorithm>
#include <functional>

namespace dockdist::node {
namespace {

constexpr int facts_limit_ms = 16000; // below the client's own
constexpr int program_limit_ms = 12000;
constexpr std::size_t longest_fact = 64U << 10U;

// In a child: becomes who runs jobs; the environment that one has. A user's own packages and names count, and
// root runs nothing of theirs.
Result<Environment> become_job_user() {
    const auto account = recorded_account();
    auto environment = recorded_environment();
    apply_account(environment, account);
    TRY(become(account));
    return environment;
}

// What it finds in that environment.
template <class Find>
auto as_job_user(Find find) {
    return [find]() -> Result<decltype(find(Environment()))> {
        const auto environment = become_job_user();
        TRY(environment);
        return find(*environment);
    };
}

wire::ProgramOutput run_program(const std::vector<std::string>& argv) {
    const auto environment = become_job_user();
    if (!environment) {
        return {.code = exit_codes::cannot_start, .output = environment.error().message};
    }
    const auto program = find_program(argv.front(), *environment);
    if (program.path.empty()) {
        return {.code = program.error.code, .output = program.error.message};
    }
    auto words = argv;
    words.front() = program.name;
    auto done =
        run_helper({.program = program, .argv = words, .environment = *environment}, program_limit_ms);
    done.output.resize(std::min(done.output.size(), longest_fact));
    return {.code = done.code, .output = std::move(done.output)};
}

// Parts whose results, or whose errors, go to where they belong.
class TypedParts {
public:
    // `result` outlives this. `work` runs in a child: it returns a T or a Result<T>.
    template <class T, class Work>
    void add(Result<T>& result, Work work) {
        auto name = std::to_string(parts_.size());
        parts_.push_back({name, [work] { return wire::partial_to_json<T>(work()); }});
        takers_.push_back([&result, name](const nlohmann::json& results) {
            result = wire::read_partial<T>(results.at(name), "what a part of the check returned");
        });
    }

    void run(int limit_ms) {
        const auto results = side_by_side(parts_, limit_ms);
        for (const auto& take : takers_) {
            take(results);
        }
    }

private:
    std::vector<Part> parts_{};
    std::vector<std::function<void(const nlohmann::json&)>> takers_{};
};

} // namespace

Result<wire::NodeFacts> answer_facts(const wire::FactsQuestion& question) {
    if (!question.mounts.empty()) {
        TRY(note_tokens(question.mounts, question.token));
    }
    wire::NodeFacts facts;
    TypedParts parts;
    parts.add(facts.limits, session_limits);
    parts.add(facts.system, system_facts);
    parts.add(facts.network, network_facts);
    parts.add(facts.names, as_job_user([&question](const Environment& environment) {
                  return resolve_names(question.names, environment);
              }));
    parts.add(facts.nccl, as_job_user(nccl_library));
    parts.add(facts.logins, [&] { return log_in_to_all(question.peers); });
    for (const auto& program : question.programs) {
        parts.add(facts.programs[program.name], [argv = program.argv] { return run_program(argv); });
    }
    for (const auto& folder : question.mounts) {
        parts.add(facts.mounts[folder], [folder] { return leave_token(folder); });
    }
    parts.run(facts_limit_ms);
    return facts;
}

} // namespace dockdist::node
