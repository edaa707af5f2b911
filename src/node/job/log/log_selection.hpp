// The part of a job's log that a query asks for.
#pragma once

#include "node/job/log/log_reader.hpp"
#include "shared/wire/job_query.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace dockdist::node {

class LogSelection {
public:
    // `now_ms`: since 1970. A query for the last lines or the last minutes reads the log once, here.
    LogSelection(const std::string& folder, const wire::JobQuery& query, std::int64_t now_ms);

    // The next frames; empty: there are no more now.
    Status read(std::string& out);
    // Whether all is read that a query which does not go to the job's end asks for.
    bool complete() const { return !to_the_end_ && reader_.position() >= end_; }
    std::uint64_t position() const { return reader_.position(); }

private:
    std::string selected(const std::string& frames) const;

    bool to_the_end_;
    std::optional<int> rank_;
    std::uint64_t end_;                              // of the log, when it was opened
    std::map<std::int32_t, std::uint64_t> starts_{}; // of each rank's last lines: a frame's position and on
    LogReader reader_;
};

} // namespace dockdist::node
