#include "node/check/probe_runner.hpp"

#include "node/system/last_words.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/probe.hpp"
#include "shared/wire/rdma.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <memory>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t goodbye_ms = 3000; // from the end of a probe's stdin to KILL
constexpr std::size_t longest_err = 4096;

struct Probe {
    Probe(Loop& loop, int rank) : local_rank(rank), said(loop, longest_err) {}

    int local_rank;
    pid_t pid = 0;
    Fd in{}, out{};
    std::string to_write{};
    std::string heard{}; // of stdout, up to the next '\n'
    LastWords said;
};

// What is in a pipe now; false at its end.
bool take(const Fd& pipe, std::string& into) {
    char bytes[65536];
    const auto count = ::read(pipe.get(), bytes, sizeof bytes);
    if (count > 0) {
        into.append(bytes, static_cast<std::size_t>(count));
    }
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

std::vector<std::string> take_lines(std::string& text) {
    std::vector<std::string> lines;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        lines.push_back(text.substr(0, end));
        text.erase(0, end + 1);
    }
    return lines;
}

wire::ProbeEnd not_started(int number) {
    wire::ProbeEnd end{.code = exit_codes::cannot_start, .message = "dockdist-probe does not start: "};
    if (number == ENOENT && is_executable(paths().probe)) {
        end.message += "the image has no glibc, whose loader it needs";
        end.hint =
            "NVIDIA's libcuda and NCCL need glibc too: take an image with glibc 2.17 or newer (Debian, "
            "Ubuntu, RHEL and their like; not Alpine)";
    } else {
        end.message += system_error(paths().probe, number).message;
    }
    return end;
}

[[noreturn]] void become_probe(const Probe& probe, int in, int out, int err, int problem, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(0);
    }
    reset_signals();
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    auto environment = Environment::own();
    environment.set("LOCAL_RANK", std::to_string(probe.local_rank));
    const int number = become_program({.path = paths().probe}, {"dockdist-probe"}, environment).number;
    (void)!::write(problem, &number, sizeof number);
    ::_exit(exit_codes::cannot_start);
}

class ProbeCarrier {
public:
    int run();

private:
    void hear_client();
    void deliver(const wire::ProbeMessage& message);
    bool start(Probe& probe);
    void write_on(Probe& probe);
    void hear(Probe& probe);
    void ended(Probe& probe, wire::ProbeEnd end);
    void end_all();
    void tell(const std::string& line);

    Loop loop_{};
    std::map<int, std::unique_ptr<Probe>> probes_{}; // that run
    std::string heard_{};
    bool ending_ = false;
    bool deaf_ = false; // the client reads no more
    int code_ = 0;
};

// network.rdma, as the node was told when it joined.
bool rdma_is_off() {
    wire::RdmaRecord rdma;
    if (const auto record =
            wire::parse_object(read_file_or_empty(paths().node_record), "the node's record")) {
        wire::ObjectReader reader(*record, "the node's record");
        wire::read_object(reader, "rdma", [&](wire::ObjectReader& fields) { read_fields(fields, rdma); });
    }
    return rdma.use == "off";
}

int ProbeCarrier::run() {
    (void)std::signal(SIGPIPE, SIG_IGN);
    tell(wire::rdma_line(rdma_is_off() ? std::vector<std::string>()
                                       : active_rdma_devices(paths().infiniband)));
    loop_.watch(STDIN_FILENO, POLLIN, [this](short) { hear_client(); });
    if (!ending_) {
        loop_.run();
    }
    return code_;
}

void ProbeCarrier::tell(const std::string& line) {
    if (!deaf_ && !write_all(STDOUT_FILENO, line)) {
        deaf_ = true;
        end_all();
    }
}

void ProbeCarrier::hear_client() {
    char bytes[65536];
    const auto count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count <= 0 || heard_.size() > wire::max_line) {
        return end_all();
    }
    heard_.append(bytes, static_cast<std::size_t>(count));
    for (const auto& line : take_lines(heard_)) {
        const auto message = wire::parse_probe_message(line);
        if (!message || !message->line) {
            const auto why = message ? "the client sent no line for a probe" : message.error().message;
            (void)write_all(STDERR_FILENO, "dockdist-init probe: " + why + "\n");
            code_ = 1;
            return end_all();
        }
        deliver(*message);
    }
}

void ProbeCarrier::deliver(const wire::ProbeMessage& message) {
    auto& place = probes_[message.local_rank];
    if (!place) {
        place = std::make_unique<Probe>(loop_, message.local_rank);
        if (!start(*place)) {
            return;
        }
    }
    place->to_write += wire::dump(*message.line) + "\n";
    write_on(*place);
}

bool ProbeCarrier::start(Probe& probe) {
    auto in = make_pipe();
    auto out = make_pipe();
    auto err = make_pipe();
    auto problem = make_pipe();
    if (!in || !out || !err || !problem) {
        ended(probe, not_started(errno));
        return false;
    }
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        ended(probe, not_started(errno));
        return false;
    }
    if (child == 0) {
        become_probe(probe, in->read.get(), out->write.get(), err->write.get(), problem->write.get(), self);
    }
    problem->write.reset();
    int number = 0;
    if (::read(problem->read.get(), &number, sizeof number) == static_cast<ssize_t>(sizeof number)) {
        int status = 0;
        ::waitpid(child, &status, 0);
        ended(probe, not_started(number));
        return false;
    }
    probe.pid = child;
    probe.in = std::move(in->write);
    probe.out = std::move(out->read);
    probe.said.listen(std::move(err->read));
    for (const auto* pipe : {&probe.in, &probe.out}) {
        set_nonblocking(pipe->get());
    }
    loop_.watch(probe.out.get(), POLLIN, [this, &probe](short) { hear(probe); });
    return true;
}

void ProbeCarrier::write_on(Probe& probe) {
    const auto count = ::write(probe.in.get(), probe.to_write.data(), probe.to_write.size());
    if (count > 0) {
        probe.to_write.erase(0, static_cast<std::size_t>(count));
    }
    loop_.forget(probe.in.get());
    if (!probe.to_write.empty() && (count >= 0 || errno == EAGAIN || errno == EINTR)) {
        loop_.watch(probe.in.get(), POLLOUT, [this, &probe](short) { write_on(probe); });
    }
}

void ProbeCarrier::hear(Probe& probe) {
    const bool goes_on = take(probe.out, probe.heard);
    for (const auto& line : take_lines(probe.heard)) {
        auto told = nlohmann::json::parse(line, nullptr, false);
        if (told.is_object()) {
            tell(wire::probe_line(probe.local_rank, std::move(told)));
        }
    }
    if (goes_on && probe.heard.size() <= wire::max_line) {
        return;
    }
    probe.said.read_rest();
    ::kill(probe.pid, SIGKILL); // its last word is out, and nothing may outlive it
    int status = 0;
    while (::waitpid(probe.pid, &status, 0) < 0 && errno == EINTR) {
    }
    const auto exit = exit_status(status);
    const auto& said = probe.said.text();
    const auto last = said.find_last_not_of('\n');
    const auto begin = last == std::string::npos ? last : said.rfind('\n', last);
    ended(probe,
          {.code = exit.code,
           .signal = exit.signal,
           .message = last == std::string::npos ? "" : printable(said.substr(begin + 1, last - begin))});
}

void ProbeCarrier::ended(Probe& probe, wire::ProbeEnd end) {
    for (const auto* pipe : {&probe.in, &probe.out}) {
        if (pipe->open()) {
            loop_.forget(pipe->get());
        }
    }
    const int local_rank = probe.local_rank;
    probes_.erase(local_rank);
    tell(wire::probe_end_line(local_rank, end));
    if (probes_.empty() && ending_) {
        loop_.stop();
    }
}

void ProbeCarrier::end_all() {
    if (std::exchange(ending_, true)) {
        return;
    }
    loop_.forget(STDIN_FILENO);
    for (auto& [local_rank, probe] : probes_) {
        loop_.forget(probe->in.get());
        probe->in.reset();
    }
    loop_.after(goodbye_ms, [this] {
        for (const auto& [local_rank, probe] : probes_) {
            ::kill(probe->pid, SIGKILL);
        }
    });
    if (probes_.empty()) {
        loop_.stop();
    }
}

} // namespace

std::vector<std::string> active_rdma_devices(const std::string& folder) {
    std::vector<std::string> active;
    for (const auto& device : list_folder(folder)) {
        const auto ports = folder + "/" + device + "/ports";
        const auto numbers = list_folder(ports);
        const bool iwarp = read_file_or_empty(folder + "/" + device + "/node_type").starts_with("4:");
        if (!iwarp && std::ranges::any_of(numbers, [&](const std::string& port) {
                return read_file_or_empty(ports + "/" + port + "/state").find("ACTIVE") != std::string::npos;
            })) {
            active.push_back(device);
        }
    }
    return active;
}

int run_probes() {
    return ProbeCarrier().run();
}

} // namespace dockdist::node
