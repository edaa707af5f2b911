// A job's output in files, one a rank, every byte as it came.
#pragma once

#include "client/job/run_job.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace dockdist {

// FOLDER/JOB/node-0.rank-3.log holds stdout and stderr of a rank, FOLDER/JOB/node-0.log the launcher's own.
class LogFiles : public JobSink {
public:
    // Makes FOLDER/JOB. conflict where it is there: nothing is written over.
    static Result<LogFiles> create(const std::string& folder, const JobId& job);

    void output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) override;
    void flush() override;
    // What could not be written, once all is over: ok where nothing was lost.
    Status written() const;
    // Removes the folder again where nothing was written into it: of a job that did not begin.
    void forget();

private:
    explicit LogFiles(std::string folder) : folder_(std::move(folder)) {}
    void write(const std::string& name, std::string& bytes);

    std::string folder_;
    std::map<std::pair<NodeName, int>, std::string> unwritten_{};
    std::uint64_t lost_ = 0;
    Error error_{}; // of the first loss
};

} // namespace dockdist
