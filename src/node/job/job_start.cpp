#include "node/job/job_start.hpp"

#include "node/job/follower.hpp"
#include "node/job/job_frames.hpp"
#include "node/job/job_preparation.hpp"
#include "node/job/job_store.hpp"
#include "node/job/supervisor_start.hpp"
#include "node/system/loop.hpp"
#include "node/system/secret.hpp"
#include "shared/wire/frame.hpp"

#include <cerrno>
#include <memory>
#include <optional>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_client_line = 64U << 20U; // files travel in it

// The conversation with the client. The opening waits for its first line, then for what is to be known, then
// for the start; commands may come at any time.
class Starter {
public:
    int run();

private:
    void read_client();
    void take_lines();
    bool obey(const wire::JobCommand& command);
    bool has_begun() const;
    Status open(const std::string& line);
    void tell_facts(const wire::LaunchFacts& facts);
    void tell_turn(const wire::GpuTurn& turn);
    Status wait_to_start(const std::string& line);
    Status start(const std::string& line);
    void watch_lease();
    void end(int code);
    void fail(const Error& error);

    Loop loop_{};
    std::string from_client_{};
    wire::JobOpening opening_{};
    std::unique_ptr<JobPreparation> preparation_{}; // none where the job has begun before
    std::optional<std::string> waiting_start_{};
    std::int64_t last_heard_ms_ = loop_.now_ms();
    bool opened_ = false;
    bool told_ = false; // the facts
    bool started_ = false;
    bool ended_ = false;
    int code_ = 0;
};

int Starter::run() {
    loop_.watch(STDIN_FILENO, POLLIN, [this](short) { read_client(); });
    loop_.run();
    preparation_.reset();
    if (!started_) {
        return code_;
    }
    return follow_job({.job = opening_.job}, from_client_);
}

void Starter::end(int code) {
    ended_ = true;
    code_ = code;
    loop_.stop();
}

void Starter::fail(const Error& error) {
    print_error(error);
    end(1);
}

void Starter::read_client() {
    char buffer[65536];
    const auto count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) {
        return;
    }
    if (count <= 0) {
        return opened_
                   ? end(0)
                   : fail(Error{.kind = ErrorKind::protocol, .message = "the job's opening was cut short"});
    }
    last_heard_ms_ = loop_.now_ms();
    from_client_.append(buffer, static_cast<std::size_t>(count));
    take_lines();
    if (!ended_ && from_client_.size() > longest_client_line) {
        fail(Error{.kind = ErrorKind::protocol, .message = "a line of the client is longer than 64 MiB"});
    }
}

void Starter::take_lines() {
    for (auto end = from_client_.find('\n'); !ended_ && end != std::string::npos;
         end = from_client_.find('\n')) {
        const auto line = from_client_.substr(0, end);
        Status done = ok;
        if (!opened_) {
            from_client_.erase(0, end + 1);
            done = open(line);
        } else if (const auto command = wire::parse_job_command(line)) {
            from_client_.erase(0, end + 1);
            if (!obey(*command)) {
                return;
            }
        } else if (!told_) {
            return; // it is looked at again when the facts are told
        } else {
            from_client_.erase(0, end + 1);
            done = preparation_ && !preparation_->may_start() ? wait_to_start(line) : start(line);
        }
        if (!done) {
            return fail(done.error());
        }
    }
}

// False when it was told to stop.
bool Starter::obey(const wire::JobCommand& command) {
    switch (command.type) {
    case wire::JobCommand::Type::ping:
        (void)write_all(STDOUT_FILENO, wire::encode({.kind = wire::Frame::Kind::pong}));
        return true;
    case wire::JobCommand::Type::line:
    case wire::JobCommand::Type::take:
    case wire::JobCommand::Type::look:
        if (preparation_) {
            preparation_->obey(command);
        }
        return true;
    case wire::JobCommand::Type::halt:
    case wire::JobCommand::Type::rest:
    case wire::JobCommand::Type::begin:
    case wire::JobCommand::Type::report:
    case wire::JobCommand::Type::stacks:
    case wire::JobCommand::Type::examine:
    case wire::JobCommand::Type::hang:
    case wire::JobCommand::Type::detach:
        return true; // nothing to do them to
    case wire::JobCommand::Type::stop:
    case wire::JobCommand::Type::over:
        break;
    }
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    event.result.stopped = true;
    event.result.reason = "stop";
    print_event(event);
    end(0);
    return false;
}

// By an exec before this one, whose client has not heard of it.
bool Starter::has_begun() const {
    const auto summary = load_summary(opening_.job);
    return summary && !opening_.token.empty() && same_secret(summary->token, opening_.token);
}

Status Starter::open(const std::string& line) {
    auto opening = wire::parse_job_opening(line);
    TRY(opening);
    opening_ = std::move(*opening);
    opened_ = true;
    if (auto free = check_name(opening_.job); !free) {
        if (!has_begun()) {
            return free; // before the other nodes have begun
        }
        told_ = true; // there is nothing to find out for it
        watch_lease();
        return ok;
    }
    preparation_ = std::make_unique<JobPreparation>(
        loop_, opening_,
        JobPreparation::Listener{.on_facts = [this](const wire::LaunchFacts& facts) { tell_facts(facts); },
                                 .on_turn = [this](const wire::GpuTurn& turn) { tell_turn(turn); },
                                 .on_error = [this](const Error& error) { fail(error); }});
    return preparation_->begin();
}

void Starter::tell_facts(const wire::LaunchFacts& facts) {
    wire::JobEvent event{.type = wire::JobEvent::Type::prepared};
    event.facts = facts;
    print_event(event);
    told_ = true;
    last_heard_ms_ = loop_.now_ms();
    watch_lease();
    take_lines();
}

void Starter::tell_turn(const wire::GpuTurn& turn) {
    wire::JobEvent event{.type = wire::JobEvent::Type::turn};
    event.turn = turn;
    print_event(event);
    if (waiting_start_ && preparation_->may_start()) {
        if (const auto started = start(*waiting_start_); !started) {
            fail(started.error());
        }
    }
}

// A client that starts the job again, because it does not know whether it runs, may find its units still in
// the hands of the exec before this one: for as long as that one's lease.
Status Starter::wait_to_start(const std::string& line) {
    if (waiting_start_) {
        return Error{.kind = ErrorKind::protocol, .message = "the job is started twice on one stream"};
    }
    waiting_start_ = line;
    preparation_->insist();
    loop_.after(opening_.lease_ms, [this] {
        fail(Error{.kind = ErrorKind::conflict,
                   .message = "the GPUs that this job had here have been given to somebody else",
                   .hint = "run the command again"});
    });
    return ok;
}

// Ports and units must not stay taken for a client that is gone without a word.
void Starter::watch_lease() {
    const auto left = last_heard_ms_ + opening_.lease_ms - loop_.now_ms();
    if (left <= 0) {
        return end(1);
    }
    loop_.after(left, [this] { watch_lease(); });
}

Status Starter::start(const std::string& line) {
    auto start = wire::parse_job_start(line);
    TRY(start);
    if (!has_begun()) {
        if (auto begun = start_supervisor(preparation_->finish(std::move(*start)), opening_.log_limit);
            !begun) {
            return begun;
        }
    }
    started_ = true;
    end(0);
    return ok;
}

} // namespace

int run_job_start() {
    return Starter().run();
}

} // namespace dockdist::node
