#include "client/cli/jobs/json_job_sink.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

namespace dockdist {

void JsonJobSink::output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) {
    constexpr std::size_t longest_line = 64U << 10U;
    const Source source(node, rank, stream);
    auto& partial = partial_[source];
    while (true) {
        const auto end = bytes.find('\n');
        partial += bytes.substr(0, end);
        if (end == std::string_view::npos) {
            break;
        }
        print(source, partial);
        partial.clear();
        bytes.remove_prefix(end + 1);
    }
    if (partial.size() > longest_line) {
        print(source, partial);
        partial.clear();
    }
}

void JsonJobSink::print(const Source& source, std::string_view line) {
    const auto& [node, rank, stream] = source;
    const auto command = rank < 0 ? command_ranks_.find(node.str()) : command_ranks_.end();
    add({{"type", "output"},
         {"node", node.str()},
         {"rank", command == command_ranks_.end() ? rank : command->second},
         {"stream", stream == StdStream::err ? "stderr" : "stdout"},
         {"line", line}});
}

void JsonJobSink::add(const nlohmann::json& line) {
    unwritten_ += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void JsonJobSink::tell(const nlohmann::json& line) {
    add(line);
    flush();
}

void JsonJobSink::flush() {
    sink_.write(STDOUT_FILENO, Displayable::json(unwritten_));
    unwritten_.clear();
}

void JsonJobSink::finish() {
    for (const auto& [source, line] : partial_) {
        if (!line.empty()) {
            print(source, line);
        }
    }
    partial_.clear();
    flush();
}

} // namespace dockdist
