// What BuildKit tells of a build, as a build's progress: which step it is at, what comes of base images, and
// what the step that failed has written. Pure.
#pragma once

#include "client/container/types.hpp"
#include "client/engine/buildkit/build_trace.hpp"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace dockdist {

class BuildSteps {
public:
    // What there is to tell of it.
    std::vector<BuildOutput> take(const BuildTrace& trace);

    // "step 2/5 (RUN make)" or "step build 2/5 (RUN make)" of the one that failed, or what else did ("resolve
    // image config for …"); empty: the build as a whole. One line, not fit for a terminal.
    std::string failed_step() const;
    // Its name, as BuildKit has it, and its last lines, each with its end; empty where it has written
    // nothing.
    std::string failed_output() const;

private:
    // A build has some hundreds of vertexes at most; a step's lines are kept for the error.
    static constexpr std::size_t most_vertexes = 2'000, longest_name = 400;
    static constexpr std::size_t kept_lines = 20, longest_line = 400;
    struct Vertex {
        std::string name{};
        bool started = false, completed = false;
        std::deque<std::string> lines{}; // the last one has not ended yet
    };
    Vertex* find(const std::string& digest);
    void take_log(Vertex& vertex, std::string_view text);

    std::map<std::string, Vertex> vertexes_{};
    std::string failed_{}; // the first one's digest
};

} // namespace dockdist
