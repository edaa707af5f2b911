#include "client/cluster/container_end.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/join.hpp"

#include <string>

namespace dockdist {
namespace {

constexpr int log_lines = 5;
constexpr std::size_t longest_log = 4096;

// Both streams: the engine's own words about a program that did not start are on stderr.
Task<std::string> last_words(ContainerEngine& engine, ContainerId id) {
    std::string words;
    const auto log = co_await engine.container_logs(std::move(id), {.tail = log_lines});
    if (!log) {
        co_return words;
    }
    while (words.size() < longest_log) {
        const auto chunk = co_await (*log)->read();
        if (!chunk || chunk->end) {
            break;
        }
        words.append(chunk->bytes, 0, longest_log - words.size());
    }
    co_return words;
}

} // namespace

Task<std::optional<Error>> find_container_end(ContainerEngine& engine, ContainerId id) {
    const auto details = co_await engine.inspect_container(id);
    if (!details || (details->state != ContainerState::exited && details->state != ContainerState::dead)) {
        co_return std::nullopt;
    }
    Error end{ErrorKind::node, "", "its container ended with code " + std::to_string(details->exit_code), ""};
    if (details->oom_killed) {
        end.message += ", out of memory";
    }
    std::string lines;
    for (const auto& line : split(co_await last_words(engine, std::move(id)), '\n')) {
        const auto message = wire::parse_join_message(line);
        if (message && message->type == wire::JoinMessage::Type::error) { // dockdist-init's own word
            end.message += ": " + printable(message->error.message);
            end.hint = printable(message->error.hint);
            co_return end;
        }
        if (!message && !line.empty() && !line.starts_with('{')) {
            lines += (lines.empty() ? "" : "\n") + printable(line);
        }
    }
    if (lines.empty()) {
        lines = printable(details->error);
    }
    end.message += lines.empty() ? "" : ": " + lines;
    end.hint = "what the file sets for it (`container`) may be the reason; `dockdist up --keep` keeps "
               "it for inspection";
    co_return end;
}

} // namespace dockdist
