// A job's output for programs (-o json), a line of JSON on stdout for each line of the job:
//   {"type":"output","node":"node-0","rank":3,"stream":"stdout","line":"epoch 1 loss 0.4"}
// rank is -1 for the launcher itself, and that of a command that is a rank (wire::command_ranks). A line
// above 64 KiB comes in parts; bytes that are not UTF-8 are replaced.
#pragma once

#include "client/job/run_job.hpp"
#include "client/report/output.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <tuple>

namespace dockdist {

class JsonJobSink : public JobSink {
public:
    explicit JsonJobSink(OutputSink& sink) : sink_(sink) {}
    void number_commands(std::map<std::string, int> ranks) { command_ranks_ = std::move(ranks); }

    void output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) override;
    void flush() override;
    // A line of its own, at once.
    void tell(const nlohmann::json& line);
    // Prints what has no newline at its end.
    void finish();

private:
    using Source = std::tuple<NodeName, int, StdStream>;
    void print(const Source& source, std::string_view line);
    void add(const nlohmann::json& line);

    OutputSink& sink_;
    std::string unwritten_{};
    std::map<Source, std::string> partial_{};
    std::map<std::string, int> command_ranks_{};
};

} // namespace dockdist
