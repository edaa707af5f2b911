// A job's part on one node: the exec that starts and follows it, and the commands to it.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/observe/observe.hpp"
#include "shared/core/lease_clock.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/job_query.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dockdist {

// A node that says nothing for so long, with this lease, is lost.
std::chrono::milliseconds longest_silence(std::chrono::milliseconds lease);

// Of a node whose container its engine does not know any more, or does not run.
Error gone_node(ErrorKind kind = ErrorKind::node);

class NodeJob {
public:
    // Called as frames come.
    struct Handlers {
        std::function<void(int rank, StdStream stream, std::string_view bytes)> output{};
        std::function<void(const wire::JobEvent&)> event{}; // all but `exited` and `error`
        std::function<void()> batch_ended{};                // what has come so far is to be shown now
        std::function<Task<void>()> room{};                 // waited for before more is read; may be empty
        // Above 0: pings are sent, and a node that says nothing for so long is lost.
        std::chrono::milliseconds silence{0};
    };

    NodeJob(ContainerEngine& engine, ReadyNode node, wire::JobOpening opening);

    // Asks the node what there is to know before the start, and asks again where the connection breaks.
    // Nothing runs there yet, and nothing ever does when this object goes without run().
    Task<Result<wire::LaunchFacts>> open();
    // After open(): what the node says of the job's GPUs (shared/wire/job.hpp), for as long as `hear` answers
    // with true; nothing of what comes after that is lost. Pings are to be sent meanwhile. A stream that
    // breaks is opened anew, for as long as the lease; `hear` is told which turn answers such an opening. An
    // error: the node is lost, or says itself what is wrong.
    using HearTurn = std::function<bool(wire::GpuTurn turn, bool reopened)>;
    Task<Status> hear_turns(HearTurn hear);
    // During hear_turns: has the part opened anew, with these for GpuAsk::taken.
    Task<void> open_anew(std::vector<wire::GpuHold> taken);
    // The place in line that it has if it has to be opened anew.
    void set_place(std::int64_t number) { opening_.gpus.number = number; }
    // After open(): runs the node's part to its end. A stream that breaks is taken up again, at the byte
    // where it broke, for as long as the job's lease; after that the node counts as lost (an error). Where
    // it breaks before the node says that the part runs, the start is said again, see shared/wire/job.hpp:
    // the part runs once.
    Task<Result<wire::JobResult>> run(wire::JobStart start, Handlers handlers);
    // Without open(): shows what the query asks for of a job that was started elsewhere. The result is empty
    // when the query does not go to the job's end and the job has not ended.
    Task<Result<wire::JobResult>> follow(wire::JobQuery query, Handlers handlers);

    // Sends a line to the node's side. While no stream is open, the last order waits for the next one; pings,
    // and what is said of GPUs, are dropped. One at a time.
    Task<void> send(wire::JobCommand command);

    // From then on the node counts as lost, whatever else it says. The earliest call counts. Only where
    // Handlers::silence is set.
    void give_up_at(LeaseClock::time_point time) { give_up_at_ = std::min(give_up_at_, time); }

    // After an error of run() or follow(): the latest moment at which the node can have been told something
    // by us, from which its part's lease counts. Nothing: no process of the part is there, by word of the
    // node or of its engine.
    std::optional<LeaseClock::time_point> told_until() const;

    const ReadyNode& node() const { return node_; }
    bool ended() const { return ended_; }
    bool detached() const { return detached_; }

private:
    Task<Status> connect(std::vector<std::string> arguments, std::string first_lines);
    Task<Status> reconnect();
    Task<Result<wire::LaunchFacts>> ask();
    Task<Result<wire::LaunchFacts>> wait_for_facts();
    // The next frame; nothing at the end of the stream.
    Task<Result<std::optional<wire::Frame>>> read_frame();
    Task<Result<ExecStream::Chunk>> read_chunk(ExecStream& stream);
    Task<Result<wire::LaunchFacts>> read_facts();
    // How it ended: `hear` has enough; the node says what is wrong; the stream is cut.
    struct TurnsEnd {
        enum class Kind { enough, refused, cut };
        Kind kind = Kind::enough;
        Error error{}; // where it is not enough
    };
    Task<TurnsEnd> read_turns(const HearTurn& hear);
    Task<Result<wire::GpuTurn>> open_again(Error broken);
    // Reads frames until the job's end (a result) or the end of the stream (nothing).
    Task<Result<std::optional<wire::JobResult>>> read_frames();
    Task<Result<wire::JobResult>> follow_to_the_end();
    Result<std::optional<wire::JobResult>> handle(const wire::Frame& frame);
    // Whether nothing of the container runs, as its engine says. One that is paused goes on some day.
    Task<bool> container_is_still();
    Error end_of_stream() const;
    std::string follow_argument() const;

    ContainerEngine& engine_;
    ReadyNode node_;
    wire::JobOpening opening_;
    std::string start_line_{}; // that has been sent, heard by the node or not
    wire::JobQuery query_{};   // what a stream that is taken up again is for
    Handlers handlers_{};
    wire::FrameDecoder decoder_{};
    std::shared_ptr<ExecStream> stream_{};    // shared: a write may be under way while the reader replaces it
    std::optional<wire::JobCommand> order_{}; // the last one
    std::uint64_t position_ = 0;              // of the next frame in the node's log
    std::string said_{};                      // stderr of the exec itself
    LeaseClock::time_point last_heard_{};     // of the node
    LeaseClock::time_point last_told_{};      // to it; it need not have come there
    LeaseClock::time_point last_ping_{};      // on this stream
    LeaseClock::time_point give_up_at_ = LeaseClock::time_point::max();
    bool listens_ = false;   // else what the node says waits for us
    bool part_gone_ = false; // see told_until()
    bool begun_ = false;     // the node has said that the part runs
    bool ended_ = false;
    bool detached_ = false;
    bool given_up_ = false;
};

} // namespace dockdist
