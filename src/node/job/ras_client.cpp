#include "node/job/ras_client.hpp"

#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/process_environ.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/stack_frame.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_ras_line = 1024;

Error no_answer(std::string message) {
    return {.kind = ErrorKind::timeout, .message = std::move(message)};
}

// One connection. What it reads beyond a line is kept for the next read.
class RasConnection {
public:
    RasConnection(int port, std::int64_t until_ms);

    bool refused() const { return refused_; }
    // Of the answer a line without its end; nothing: there was none until then.
    std::optional<std::string> ask(std::string_view line, std::int64_t until_ms);
    bool send(std::string_view line, std::int64_t until_ms);
    // Up to the end that the server makes.
    Result<std::string> rest(std::int64_t until_ms);

private:
    bool wait(short events, std::int64_t until_ms) const;
    bool receive(std::int64_t until_ms); // something, or the end

    Fd socket_;
    bool refused_ = false;
    bool over_ = false;
    std::string heard_{};
};

RasConnection::RasConnection(int port, std::int64_t until_ms)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const auto there = numeric_address("127.0.0.1", port);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&there.storage), there.length) != 0 &&
        (errno != EINPROGRESS || !wait(POLLOUT, until_ms))) {
        refused_ = errno == ECONNREFUSED;
        over_ = true;
        return;
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    refused_ = error == ECONNREFUSED;
    over_ = error != 0;
}

bool RasConnection::wait(short events, std::int64_t until_ms) const {
    pollfd ready{.fd = socket_.get(), .events = events, .revents = 0};
    const auto left = until_ms - monotonic_ms();
    return left > 0 && ::poll(&ready, 1, static_cast<int>(left)) > 0;
}

bool RasConnection::send(std::string_view line, std::int64_t until_ms) {
    const auto words = std::string(line) + "\n";
    return !over_ && wait(POLLOUT, until_ms) &&
           ::send(socket_.get(), words.data(), words.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(words.size());
}

bool RasConnection::receive(std::int64_t until_ms) {
    if (over_ || !wait(POLLIN, until_ms)) {
        return false;
    }
    std::array<char, 65536> buffer{};
    const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
        heard_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    over_ = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
    return true;
}

std::optional<std::string> RasConnection::ask(std::string_view line, std::int64_t until_ms) {
    if (!send(line, until_ms)) {
        return std::nullopt;
    }
    while (heard_.find('\n') == std::string::npos) {
        if (over_ || heard_.size() > longest_ras_line || !receive(until_ms)) {
            return std::nullopt;
        }
    }
    const auto end = heard_.find('\n');
    auto answer = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    return answer;
}

Result<std::string> RasConnection::rest(std::int64_t until_ms) {
    while (!over_) {
        if (heard_.size() > most_ras_bytes) {
            return Error{.kind = ErrorKind::protocol, .message = "RAS answers more than 64 MiB"};
        }
        if (!receive(until_ms)) {
            return no_answer("RAS has begun to answer, and came to no end");
        }
    }
    return std::move(heard_);
}

// `until_ms`: of the whole.
Result<RasStatus> ask_status(RasConnection& connection, std::int64_t greeting_ms, std::int64_t until_ms) {
    const auto format = connection.ask("SET FORMAT json", std::min(until_ms, monotonic_ms() + greeting_ms));
    if (!format) {
        return no_answer("RAS greets, and answers no more");
    }
    const bool is_json = format->starts_with("OK");
    if (!is_json && !format->starts_with("ERROR")) {
        return Error{.kind = ErrorKind::protocol,
                     .message = "RAS answers \"" + wire::stack_word(format->substr(0, 60)) + "\""};
    }
    if (!connection.send(is_json ? "STATUS" : "VERBOSE STATUS", until_ms)) {
        return no_answer("RAS hangs up");
    }
    const auto answer = connection.rest(until_ms);
    TRY(answer);
    return is_json ? read_ras_json(*answer) : read_ras_text(*answer);
}

void pause(std::int64_t milliseconds) {
    ::poll(nullptr, 0, static_cast<int>(milliseconds));
}

} // namespace

Result<std::optional<RasStatus>> ask_ras(int port, const RasLimits& limits) {
    const auto until_ms = monotonic_ms() + limits.answer_ms;
    for (int tries = 0; tries < limits.connections && monotonic_ms() < until_ms; ++tries) {
        const auto greeted_ms = std::min(until_ms, monotonic_ms() + limits.greeting_ms);
        RasConnection connection(port, greeted_ms);
        if (connection.refused()) {
            return std::optional<RasStatus>();
        }
        const auto greeting = connection.ask("CLIENT PROTOCOL 2", greeted_ms);
        if (!greeting) {
            continue;
        }
        if (!greeting->starts_with("SERVER PROTOCOL ")) {
            return Error{.kind = ErrorKind::protocol,
                         .message = "what listens at port " + std::to_string(port) + " is not NCCL's RAS"};
        }
        auto status = ask_status(connection, limits.greeting_ms, until_ms);
        TRY(status);
        return std::optional(std::move(*status));
    }
    return no_answer("none of the processes that listen at port " + std::to_string(port) + " answers");
}

Result<std::optional<int>> ras_port_in(std::string_view environ) {
    const auto address = variable_in(environ, "NCCL_RAS_ADDR");
    if (address.empty() || variable_in(environ, "NCCL_RAS_ENABLE") == "0") {
        return std::optional<int>();
    }
    const auto colon = address.rfind(':');
    const auto port = whole_number<int>(colon == std::string::npos ? "" : address.substr(colon + 1));
    const auto host = address.substr(0, colon);
    if (!port || *port < 1 || *port > 65535 || (host != "127.0.0.1" && host != "localhost")) {
        return Error{.kind = ErrorKind::usage,
                     .message = "NCCL_RAS_ADDR is " + wire::stack_word(address.substr(0, 100)) +
                                ", and only 127.0.0.1 is asked"};
    }
    return port;
}

wire::RasReport look_at_ras(std::string_view environ, std::int64_t pause_ms) {
    const auto port = ras_port_in(environ);
    if (!port) {
        return {.problem = port.error().message};
    }
    const auto first = *port ? ask_ras(**port) : std::optional<RasStatus>();
    if (!first) {
        return {.problem = first.error().message};
    }
    if (!*first || !(*first)->differs()) {
        return *first ? report_of(**first) : wire::RasReport();
    }
    const auto begun_ms = monotonic_ms();
    pause(pause_ms);
    const auto later = ask_ras(**port);
    if (!later || !*later) {
        return {.problem = later ? "RAS has answered once, and no more" : later.error().message};
    }
    return compare_ras(**first, **later, monotonic_ms() - begun_ms);
}

} // namespace dockdist::node
