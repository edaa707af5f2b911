#include "node/check/facts.hpp"

#include "core/exit_codes.hpp"
#include "node/check/interface.hpp"
#include "node/check/kernel.hpp"
#include "node/check/limits.hpp"
#include "node/check/mounts.hpp"
#include "node/check/names.hpp"
#include "node/check/nccl_library.hpp"
#include "node/check/peers.hpp"
#include "node/session/session.hpp"
#include "node/system/process.hpp"
#include "node/system/side_by_side.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <functional>

namespace dockdist::node {
namespace {

constexpr int facts_limit_ms = 16000; // below the client's own
constexpr int program_limit_ms = 12000;
constexpr std::size_t longest_output = 64U << 10U;

nlohmann::json run_program(const std::vector<std::string>& argv) {
    // As a job's process would run it: a user's own packages count.
    const auto account = recorded_account();
    auto environment = recorded_environment();
    apply_account(environment, account);
    if (const auto became = become(account); !became) {
        return {{"code", exit_codes::cannot_start}, {"output", became.error().message}};
    }
    const auto program = find_program(argv.front(), environment);
    if (program.path.empty()) {
        return {{"code", program.error.code}, {"output", program.error.message}};
    }
    auto words = argv;
    words.front() = program.name;
    auto done = run_helper(program.path, words, environment, program_limit_ms);
    done.output.resize(std::min(done.output.size(), longest_output));
    return {{"code", done.code}, {"output", done.output}};
}

Status read_programs(const nlohmann::json* programs, std::vector<Part>& parts) {
    for (const auto& entry : programs != nullptr ? *programs : nlohmann::json::array()) {
        std::string name;
        std::vector<std::string> argv;
        wire::ObjectReader reader(entry, "a program of the check");
        reader.read("name", name);
        reader.read_bytes("argv", argv);
        if (reader.failed()) {
            return reader.error();
        }
        if (name.empty() || argv.empty()) {
            return Error{.kind = ErrorKind::protocol, .message = "a program of the check has no name"};
        }
        parts.push_back({"program " + name, [argv] { return run_program(argv); }});
    }
    return ok;
}

} // namespace

Result<wire::CheckAnswer> answer_facts(const nlohmann::json& question) {
    std::vector<std::string> peers;
    std::vector<std::string> mounts;
    std::string token;
    wire::ObjectReader reader(question, "a question of the check");
    reader.read_bytes("peers", peers);
    reader.read_bytes("mounts", mounts);
    reader.read("token", token);
    const auto* programs = reader.array("programs");
    if (reader.failed()) {
        return reader.error();
    }
    std::vector<Part> parts{{"limits", session_limits},
                            {"system", system_facts},
                            {"network", network_facts},
                            {"names", [&] { return resolve_names(peers); }},
                            {"nccl", [] { return nccl_facts(); }},
                            {"ssh", [&] { return log_in_to_all(peers); }}};
    if (const auto read = read_programs(programs, parts); !read) {
        return read.error();
    }
    if (!mounts.empty()) {
        if (const auto noted = note_tokens(mounts, token); !noted) {
            return noted.error();
        }
        for (const auto& folder : mounts) {
            parts.push_back({"mount " + folder, [folder] { return leave_token(folder); }});
        }
    }
    wire::CheckAnswer answer{{{"programs", nlohmann::json::object()}, {"mounts", nlohmann::json::object()}}};
    auto results = side_by_side(parts, facts_limit_ms);
    for (auto& [name, result] : results.items()) {
        if (name.starts_with("program ")) {
            answer.body["programs"][name.substr(8)] = std::move(result);
        } else if (name.starts_with("mount ")) {
            answer.body["mounts"][name.substr(6)] = std::move(result);
        } else {
            answer.body[name] = std::move(result);
        }
    }
    return answer;
}

} // namespace dockdist::node
