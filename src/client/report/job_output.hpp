// The output of many nodes and ranks as one, line by line:
//   [node-0:0] epoch 1 loss 0.42
//   [node-0:1] epoch 1 loss 0.43
// stdout goes to stdout and stderr to stderr, each line whole and with its source in front, in the order of
// arrival.
// - A line that has not ended is held until its newline, or the end. A line above 64 KiB comes in parts; the
// parts after
//   the first have '+' instead of the space after the bracket.
// - Progress bars ('\r'): on a terminal the present state of each rank stands below the lines; in a pipe only
// the state
//   in which the newline found it is printed.
// - Escape sequences: colours stay on a terminal and end with the line, other ones become visible text, so
// that no rank
//   can forge another's line or change the terminal.
// - folds: tracebacks that several ranks write alike are shown once (repeated_tracebacks.hpp).
// - raw: bytes pass as they come, without all of the above.
#pragma once

#include "client/report/line_splitter.hpp"
#include "client/report/live_region.hpp"
#include "client/report/output.hpp"
#include "client/report/repeated_tracebacks.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

enum class JobStream { out, err };

struct JobOutputOptions {
    OutputTraits out{}, err{};
    bool merged = false; // stdout and stderr are the same file: all goes to stdout, which keeps the order
    bool raw = false;
    bool prefix = true;
    bool folds = false; // tracebacks that several sources write alike
    std::function<TerminalSize(int)> size = terminal_size;
    std::function<std::chrono::steady_clock::time_point()> now = [] {
        return std::chrono::steady_clock::now();
    };
};
JobOutputOptions probe_job_output();

class JobOutput {
public:
    using Source = std::size_t;

    // The sink outlives the JobOutput. Its writes may block; nothing is queued meanwhile but one buffer a
    // descriptor.
    JobOutput(JobOutputOptions options, OutputSink& sink);
    ~JobOutput();
    JobOutput(const JobOutput&) = delete;
    JobOutput& operator=(const JobOutput&) = delete;

    // Add all sources before the first write where they are known: prefixes are as wide as the widest so far.
    Source add_source(std::string_view label); // "node-0", "node-1:3"

    void write(Source source, JobStream stream, std::string_view bytes);
    void end(Source source);

    // The client's own words between the job's lines, to stderr: safe text, whole lines (see error_text.hpp).
    void message(std::string_view lines);

    // To be called at the end of each batch of input, and about ten times a second while progress bars are
    // live.
    void flush();

    // Ends every source and the live display.
    void finish();

private:
    class Channel;
    struct Member {
        std::string label{};
        // By JobStream.
        std::array<std::string, 2> prefixes{}, continued_prefixes{};
        std::array<LineSplitter, 2> streams{};
        std::array<RepeatedTracebacks::Held, 2> held{};
    };
    Channel& channel(JobStream stream) const;
    void put(Source source, std::size_t index, const LinePart& part);
    void release(Source source, std::size_t index);
    void make_prefix(Source source);
    std::vector<std::string> live_lines(const Channel& channel) const;

    JobOutputOptions options_;
    std::vector<Member> members_{};
    RepeatedTracebacks repeated_{};
    std::array<std::unique_ptr<Channel>, 2> channels_; // by JobStream; only the first where merged
    std::size_t label_width_ = 0;
};

} // namespace dockdist
