#include "client/engine/transport/ssh/user_ssh.hpp"

#include "client/async/shared_run.hpp"
#include "client/async/with_timeout.hpp"
#include "client/engine/transport/socket_stream.hpp"
#include "client/engine/transport/ssh/establish.hpp"
#include "client/engine/transport/ssh/user_ssh_words.hpp"
#include "client/engine/transport/transport.hpp"
#include "shared/core/fd.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include <array>
#include <functional>
#include <sys/un.h>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using boost::asio::local::stream_protocol;
using std::chrono::milliseconds;
using Opened = SshLink::Opened;

constexpr auto quiet_login_limit = 30s;
constexpr auto asking_login_limit = 120s; // a person has to be asked; sshd gives up after that time, too
constexpr auto forward_limit = 15s;

// A connection on such a link: through its socket, or a process's stdin and stdout.
class UserStream final : public ByteStream {
public:
    // What pending reads hold, for they may outlive the stream by a turn of the loop.
    struct Shared {
        std::function<const std::optional<Error>&()> look; // whether the connection below it has ended
        std::string where;
        std::unique_ptr<ByteStream> stream;
        std::unique_ptr<ChildProcess> process{};
        SshLink::CommandPlace place{};
        bool heard = false;
    };
    explicit UserStream(Shared shared) : shared_(std::make_shared<Shared>(std::move(shared))) {}
    ~UserStream() override { close(); }

    Task<Result<std::size_t>> read_some(std::span<char> buffer) override {
        return read_some(shared_, buffer);
    }
    Task<Status> write(std::span<const char> bytes) override { return write(shared_, bytes); }
    Task<Status> shutdown_send() override { return shared_->stream->shutdown_send(); }
    void close() noexcept override { shared_->stream->close(); }
    bool stale() override { return shared_->stream->stale(); }

private:
    static Task<Result<std::size_t>> read_some(std::shared_ptr<Shared> shared, std::span<char> buffer) {
        auto count = co_await shared->stream->read_some(buffer);
        if (count && *count > 0) {
            shared->heard = true;
        } else if (const auto why = why_over(*shared)) {
            co_return *why;
        }
        co_return count;
    }

    static Task<Status> write(std::shared_ptr<Shared> shared, std::span<const char> bytes) {
        auto written = co_await shared->stream->write(bytes);
        if (const auto why = written ? std::nullopt : why_over(*shared)) {
            co_return *why;
        }
        co_return written;
    }

    // Where its end says less than is known.
    static std::optional<Error> why_over(const Shared& shared) {
        if (const auto& gone = shared.look()) {
            return gone;
        }
        return shared.process && !shared.heard
                   ? std::optional(ended_silently(shared.where, shared.process->complaints()))
                   : std::nullopt;
    }

    std::shared_ptr<Shared> shared_;
};

// Whether an ssh of this user's takes others' connections there.
bool is_open(const std::string& control) {
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    if (control.empty() || control.size() >= sizeof place.sun_path) {
        return false;
    }
    control.copy(place.sun_path, sizeof place.sun_path - 1);
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 &&
           ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

class UserSsh final : public SshLink {
public:
    // `control` is where it takes others' connections, and `socket` will lead to the engine's.
    UserSsh(boost::asio::any_io_executor executor, const SshSettings& settings, std::string control,
            std::string socket)
        : executor_(std::move(executor)), where_(ssh_name_of(settings)), control_(std::move(control)),
          socket_(std::move(socket)), forwarding_(executor_) {}
    ~UserSsh() override {
        if (process_) {
            process_.reset();
            ::unlink(control_.c_str()); // it was killed, and leaves them
        } else if (!cancelling_.empty()) {
            (void)start_detached(cancelling_);
        }
        ::unlink(socket_.c_str());
    }

    const std::optional<Error>& broken() const override { return broken_; }
    const std::string& where() const override { return where_; }

    // Until it is logged in. Its complaints, when it is not.
    static Task<Result<std::string>> log_in(std::shared_ptr<UserSsh> self, std::vector<std::string> command) {
        auto process = ChildProcess::start(self->executor_, command, "", IfWeDie::end);
        CO_TRY(process);
        self->process_ = std::move(*process);
        std::string said;
        std::array<char, 512> buffer{};
        while (said.find(user_ssh_ready) == std::string::npos) {
            const auto [error, count] = co_await self->process_->socket().async_read_some(
                boost::asio::buffer(buffer), boost::asio::as_tuple(boost::asio::use_awaitable));
            if (error) {
                co_await throw_if_cancelled(error);
                co_return self->process_->complaints() + "\n";
            }
            said.append(buffer.data(), count);
        }
        boost::asio::co_spawn(self->executor_, watch(self, self->process_.get()), boost::asio::detached);
        co_return std::string();
    }

    Task<Result<Opened>> open_socket(std::shared_ptr<SshLink> self, std::string path) override {
        return forwarded(std::static_pointer_cast<UserSsh>(self), std::move(path));
    }

    Task<Result<Opened>> open_command(std::shared_ptr<SshLink> self, std::string command,
                                      CommandPlace place) override {
        return run(std::static_pointer_cast<UserSsh>(self), std::move(command), std::move(place));
    }

private:
    // Its end is that of everything on it. The stream goes with `process`, so `self` may be gone first.
    static Task<void> watch(std::weak_ptr<UserSsh> weak, ChildProcess* process) {
        std::array<char, 512> buffer{};
        while (true) {
            const auto [error, count] = co_await process->socket().async_read_some(
                boost::asio::buffer(buffer), boost::asio::as_tuple(boost::asio::use_awaitable));
            if (!error) {
                continue;
            }
            if (const auto self = weak.lock()) {
                self->look();
            }
            co_return;
        }
    }

    // Finds out whether it has ended; of the user's own nobody tells.
    const std::optional<Error>& look() {
        return (process_ ? peek(process_->socket().native_handle()) < 0 : !is_open(control_)) ? lost()
                                                                                              : broken_;
    }

    const std::optional<Error>& lost() {
        if (!broken_) {
            const auto complaint = process_ ? process_->complaint() : std::string();
            broken_ = Error{ErrorKind::unreachable, "",
                            fmt::format("the ssh connection to {} was lost{}{}", where_,
                                        complaint.empty() ? "" : ": ", printable(complaint)),
                            "is the machine up, and the network to it?"};
        }
        return broken_;
    }

    static Task<Result<Opened>> forwarded(std::shared_ptr<UserSsh> self, std::string path) {
        if (const auto& gone = self->look()) {
            co_return *gone;
        }
        const auto ready = co_await self->forwarding_.join([self, path] { return forward(self, path); });
        if (!ready && ready.error().kind == ErrorKind::timeout) {
            co_return ready.error();
        }
        if (!ready) {
            co_return Opened{nullptr, ready.error().message};
        }
        auto stream = co_await self->connect();
        if (!stream) {
            co_return *self->lost(); // it listens there as long as it lives
        }
        co_return Opened{on_it(self, std::move(*stream)), ""};
    }

    // Once. Errors: the server refuses.
    static Task<Status> forward(std::shared_ptr<UserSsh> self, std::string path) {
        if (self->forwards_) {
            co_return ok;
        }
        const auto command = forward_command(self->control_, self->socket_, path);
        if (command.empty()) {
            co_return Error{.message = "ssh cannot handle such a path"};
        }
        self->cancelling_ = cancel_command(self->control_, self->socket_, path);
        const auto told = co_await run_and_read(self->executor_, command, forward_limit);
        if (!told || told->exit_code != 0) {
            co_return Error{.message = told ? printable(told->complaint) : told.error().message};
        }
        // Whether sshd agrees shows at the first connection alone.
        const Error late{ErrorKind::timeout, "",
                         fmt::format("the engine on {} does not answer", self->where_),
                         "is the Docker daemon there stuck?"};
        auto first = co_await self->connect();
        if (first) {
            first = co_await with_timeout(answering(std::move(*first)), forward_limit, late);
        }
        if (!first && first.error().kind == ErrorKind::timeout) {
            co_return first.error();
        }
        self->forwards_ = first.has_value();
        if (!first) {
            co_return Error{.message = self->process_ ? printable(self->process_->complaint())
                                                      : "it does not forward sockets"};
        }
        co_return ok;
    }

    Task<Result<std::unique_ptr<ByteStream>>> connect() const {
        const EngineAddress here{
            .scheme = EngineAddress::Scheme::unix_socket, .path = socket_, .url = socket_};
        return make_unix_transport(executor_, here, forward_limit)->connect();
    }

    static std::unique_ptr<ByteStream> on_it(const std::shared_ptr<UserSsh>& self,
                                             std::unique_ptr<ByteStream> stream,
                                             std::unique_ptr<ChildProcess> process = {},
                                             CommandPlace place = {}) {
        return std::make_unique<UserStream>(
            UserStream::Shared{.look = [self]() -> const std::optional<Error>& { return self->look(); },
                               .where = self->where_,
                               .stream = std::move(stream),
                               .process = std::move(process),
                               .place = std::move(place)});
    }

    static Task<Result<Opened>> run(std::shared_ptr<UserSsh> self, std::string command, CommandPlace place) {
        if (const auto& gone = self->look()) {
            co_return *gone;
        }
        auto process =
            ChildProcess::start(self->executor_, remote_command(self->control_, command), "", IfWeDie::end);
        CO_TRY(process);
        auto stream =
            std::make_unique<SocketStream<stream_protocol::socket>>(std::move((*process)->socket()));
        co_return Opened{on_it(self, std::move(stream), std::move(*process), std::move(place)), ""};
    }

    boost::asio::any_io_executor executor_;
    std::string where_;
    std::string control_;
    std::string socket_;
    std::unique_ptr<ChildProcess> process_{}; // none: the connection is the user's own
    std::vector<std::string> cancelling_{};   // what is told to the user's own at the end
    std::optional<Error> broken_{};
    bool forwards_ = false;
    SharedRun<Status> forwarding_;
};

// A file of the folder without its suffix.
Result<std::string> next_name(SshCommons& commons) {
    const auto folder = commons.folder();
    return folder ? Result<std::string>(fmt::format("{}/{}", *folder, commons.next_number())) : folder;
}

} // namespace

Task<Result<std::shared_ptr<SshLink>>> start_user_ssh(boost::asio::any_io_executor executor,
                                                      EngineAddress address, SshSettings settings,
                                                      std::string why, milliseconds limit) {
    auto& commons = SshCommons::of(executor);
    const auto place = co_await commons.begin_login(executor, ssh_login_of(settings));
    const auto name = next_name(commons);
    CO_TRY(name);
    const bool asks = !settings.batch && commons.questions(executor).asks();
    auto command = user_ssh_command(address, settings, *name + ".c", asks, limit);
    SshQuestions::Ear ear{.environment = asking_nobody()};
    if (asks) {
        auto listening = commons.questions(executor).listen(*commons.folder());
        CO_TRY(listening);
        ear = std::move(*listening);
    }
    command = with_variables(ear.environment, std::move(command));
    limit = settings.connect_timeout.value_or(limit);
    const auto own_login_limit =
        limit + (asks ? milliseconds(asking_login_limit) : milliseconds(quiet_login_limit));
    for (SshPatience patience(limit);;) {
        const auto link = std::make_shared<UserSsh>(executor, settings, *name + ".c", *name + ".s");
        const Error late{ErrorKind::timeout, "",
                         fmt::format("your own ssh to {} does not finish (dockdist uses it, since {})",
                                     link->where(), why),
                         "try `ssh` by hand"};
        const auto complaints = co_await with_timeout(UserSsh::log_in(link, command), own_login_limit, late);
        CO_TRY(complaints);
        if (complaints->empty()) {
            co_return link;
        }
        if (!is_turned_away(*complaints) ||
            !co_await patience.lasts(complaints->find("MaxStartups") != std::string::npos)) {
            co_return user_ssh_error(link->where(), settings, *complaints, why);
        }
    }
}

Result<std::shared_ptr<SshLink>> open_user_ssh(const boost::asio::any_io_executor& executor,
                                               const SshSettings& settings) {
    if (!is_open(settings.control_path)) {
        return std::shared_ptr<SshLink>();
    }
    const auto name = next_name(SshCommons::of(executor));
    TRY(name);
    return std::shared_ptr<SshLink>(
        std::make_shared<UserSsh>(executor, settings, settings.control_path, *name + ".s"));
}

} // namespace dockdist
