// A job's output on the screen: every line with its node, or its node and rank, in front.
#pragma once

#include "client/job/run_job.hpp"
#include "client/report/job_output.hpp"

#include <map>
#include <utility>

namespace dockdist {

class JobScreen : public JobSink {
public:
    JobScreen(JobOutputOptions options, OutputSink& sink);

    // Before the first output: prefixes are made as wide as the widest.
    void expect(const NodeName& node, int rank);

    void output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) override;
    void flush() override;
    void finish();

private:
    JobOutput::Source source_of(const NodeName& node, int rank);

    JobOutput output_;
    std::map<std::pair<NodeName, int>, JobOutput::Source> sources_{};
};

} // namespace dockdist
