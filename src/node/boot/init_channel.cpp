#include "node/boot/init_channel.hpp"

#include "node/system/paths.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/wire/json_reader.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

// An engine says that a container runs as soon as its first process is there; what that process has to
// prepare before it listens takes a moment more, on a busy host a long one.
constexpr std::int64_t init_start_limit_ms = 5000;
constexpr int attempt_pause_ms = 10;

Result<Fd> reach_init() {
    const auto deadline = monotonic_ms() + init_start_limit_ms;
    auto channel = connect_unix(paths().init_socket, SOCK_SEQPACKET);
    while (!channel && monotonic_ms() < deadline) {
        (void)::poll(nullptr, 0, attempt_pause_ms);
        channel = connect_unix(paths().init_socket, SOCK_SEQPACKET);
    }
    return channel;
}

// PID 1 waits for the question of who has come for a second at most (Init::let_in). On a host where
// everything starts at once, this process may not have had its turn by then: nothing was heard, and it comes
// again.
Result<Fd> tell_init(const std::string& question, ssize_t& sent) {
    constexpr int most_tries = 10;
    for (int tries = 1;; ++tries) {
        auto channel = reach_init();
        if (!channel) {
            return channel;
        }
        sent = ::send(channel->get(), question.data(), question.size(), MSG_NOSIGNAL);
        if (sent >= 0 || errno != EPIPE || tries == most_tries) {
            return channel;
        }
    }
}

} // namespace

Result<nlohmann::json> ask_init(const nlohmann::json& question) {
    ssize_t length = 0;
    const auto channel = tell_init(wire::dump(question), length);
    if (!channel) {
        return Error{
            .kind = ErrorKind::node,
            .message = "dockdist-init is not running as this container's first process (" +
                       channel.error().message + ")",
            .hint = "run `dockdist down` and `dockdist up`: the container was not created by this version"};
    }
    std::string answer(128U << 10U, '\0');
    if (length >= 0) {
        const timeval limit{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(channel->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        length = ::recv(channel->get(), answer.data(), answer.size(), 0);
    }
    if (length <= 0) {
        return system_error("the container's first process does not answer",
                            length == 0 ? ECONNRESET : errno);
    }
    answer.resize(static_cast<std::size_t>(length));
    auto object = wire::parse_object(answer, "the answer of dockdist-init");
    TRY(object);
    if (object->value("ok", false)) {
        return Result<nlohmann::json>(boost::system::in_place_value, std::move(*object));
    }
    const auto& error = (*object)["error"];
    wire::ObjectReader reader(error, "the answer of dockdist-init");
    return error.is_object()
               ? wire::read_error(reader)
               : Error{.kind = ErrorKind::internal, .message = "dockdist-init refused without a reason"};
}

} // namespace dockdist::node
