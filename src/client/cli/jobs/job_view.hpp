// Where a job's output goes: to the screen, or as JSON to stdout, and beside it to files.
#pragma once

#include "client/cli/context.hpp"
#include "client/cli/jobs/json_job_sink.hpp"
#include "client/job/job_screen.hpp"
#include "client/job/log_files.hpp"
#include "client/job/nonblocking_sink.hpp"
#include "shared/wire/job_query.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace dockdist {

struct JobViewOptions {
    bool raw = false;
    bool whole = false;       // what was said before is shown again: nothing of it is folded
    std::string log_folder{}; // empty: no files
};
// --raw and --log-dir, the same for every command that shows a job's output.
void add_view_options(CLI::App& command, JobViewOptions& options);

// --since and --tail, of those commands that show what was written before they came.
struct PastOutput {
    std::string since{};
    std::optional<std::int64_t> tail{};
};
void add_past_options(CLI::App& command, PastOutput& options);
void set_past(const PastOutput& options, wire::JobQuery& query);

class JobView : public JobSink {
public:
    // Makes the files' folder.
    static Result<std::unique_ptr<JobView>> create(const Context& context, const JobViewOptions& options,
                                                   const JobId& job);

    // Leaves no folder behind where nothing was shown and it was not finished.
    ~JobView() override;
    // Before the first output: prefixes are made as wide as the widest.
    void expect(const NodeName& node, int rank);
    // With -o json: which rank the command of a node is, where there is no launcher.
    void number_commands(std::map<std::string, int> ranks);
    // With -o json: a line of its own, between whole lines of the output. Waits for no reader. After
    // finish(): nothing.
    void tell_json(const nlohmann::json& line);
    void output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) override;
    void aside(const NodeName& node, StdStream stream, std::string_view bytes) override;
    void flush() override;
    Task<void> room() override;
    // After the last output. Says what is missing in the files.
    void finish();

private:
    JobView(const Context& context, const JobViewOptions& options, const JobId& job,
            std::optional<LogFiles> files);

    const Context& context_;
    JobId job_;
    NonblockingSink sink_;
    std::optional<JobScreen> screen_{}; // one of the two
    std::optional<JsonJobSink> json_{};
    std::optional<LogFiles> files_;
    std::int64_t asides_ = 0; // lines that are not shown
    bool raw_ = false;
    bool finished_ = false;
};

} // namespace dockdist
