// A job's part on one node: the exec that starts and follows it, and the commands to it.
#pragma once

#include "engine/container_engine.hpp"
#include "observe/observe.hpp"
#include "wire/frame.hpp"
#include "wire/job.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dockdist {

class NodeJob {
public:
    // Called as frames come. `exited` comes last, and once.
    struct Handlers {
        std::function<void(int rank, StdStream stream, std::string_view bytes)> output{};
        std::function<void(const wire::RankFailure&)> rank_failed{};
        std::function<void()> batch_ended{}; // what has come so far is to be shown now
    };

    NodeJob(ContainerEngine& engine, ReadyNode node, wire::JobRequest request, Handlers handlers);

    // Runs the node's part to its end. A stream that breaks is taken up again, at the byte where it broke,
    // for as long as the job's lease; after that the node counts as lost (an error).
    Task<Result<wire::JobResult>> run();
    // Shows a job that was started elsewhere, from the beginning of its log: what is there now, or on to its
    // end.
    Task<Result<wire::JobResult>> follow(bool to_the_end);

    // Sends a line to the node's side. While no stream is open, a stop waits for the next one and the rest is
    // dropped. One at a time.
    Task<void> send(wire::JobCommand command);

    const ReadyNode& node() const { return node_; }
    bool ended() const { return ended_; }

private:
    Task<Status> open(std::vector<std::string> arguments, std::string first_line);
    // Reads frames until the job's end (a result) or the end of the stream (nothing).
    Task<Result<std::optional<wire::JobResult>>> read_frames();
    Task<Result<wire::JobResult>> follow_to_the_end();
    Result<std::optional<wire::JobResult>> handle(wire::Frame frame);
    std::string follow_argument(bool to_the_end) const;

    ContainerEngine& engine_;
    ReadyNode node_;
    wire::JobRequest request_;
    Handlers handlers_;
    std::shared_ptr<ExecStream> stream_{}; // shared: a write may be under way while the reader replaces it
    std::optional<wire::JobCommand> stop_{};
    std::uint64_t position_ = 0; // of the next frame in the node's log
    std::string said_{};         // stderr of the exec itself
    bool started_ = false;
    bool ended_ = false;
};

} // namespace dockdist
