#include "client/engine/transport/ssh/establish.hpp"

#include "client/async/pause.hpp"
#include "client/async/with_timeout.hpp"
#include "client/engine/transport/handshakes.hpp"
#include "client/engine/transport/ssh/commons.hpp"
#include "client/engine/transport/ssh/login.hpp"
#include "client/engine/transport/tcp_connect.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Handle = std::shared_ptr<SshSession>;

constexpr auto agreement_limit = 10s;
constexpr auto login_limit = 120s; // an agent may ask a person; sshd gives up after that time, too
constexpr milliseconds first_pause = 100ms;
constexpr milliseconds longest_pause = 1s;
constexpr int crowd_patience = 4; // times the limit of an attempt

Task<Result<Handle>> connect(boost::asio::any_io_executor executor, EngineAddress address,
                             SshSettings settings, milliseconds limit) {
    if (settings.proxy.empty()) {
        address.host = settings.host;
        address.port = settings.port;
        auto socket = co_await connect_tcp(executor, address, limit);
        CO_TRY(socket);
        co_return SshSession::create(executor, SshSession::Socket(std::move(**socket)), nullptr,
                                     ssh_name_of(settings));
    }
    auto proxy = ChildProcess::start(executor, with_variables(asking_nobody(), settings.proxy));
    CO_TRY(proxy);
    SshSession::Socket socket(std::move((*proxy)->socket()));
    co_return SshSession::create(executor, std::move(socket), std::move(*proxy), ssh_name_of(settings));
}

Task<Status> agree(Handle session, SshSettings settings) {
    const Error silence{ErrorKind::timeout, "",
                        fmt::format("{} did not answer the ssh handshake within {} s", session->where(),
                                    std::chrono::seconds(agreement_limit).count()),
                        settings.proxy.empty()
                            ? "is that an ssh server, and is the machine overloaded?"
                            : "is the machine up? it is reached through " + settings.proxy_name};
    const auto permit = co_await handshake_place(session->executor());
    co_return co_await with_timeout(agree_and_check_host(session, settings), agreement_limit, silence);
}

// It hung up without the first line of the protocol.
bool turned_away(const SshSession& session) {
    if (!session.broken() || !session.farewell().empty() || session.banner().starts_with("SSH-")) {
        return false;
    }
    if (session.proxy() == nullptr) {
        return session.broken()->kind == ErrorKind::unreachable;
    }
    const auto complaint = session.proxy()->complaint(); // of the ssh that connects to the jump host
    return std::ranges::any_of(
        std::to_array<std::string_view>(
            {"Connection closed by", "Connection reset by", "Exceeded MaxStartups"}),
        [&](std::string_view part) { return complaint.find(part) != std::string::npos; });
}

bool is_shut_on_the_way(const SshSession& session) {
    return session.proxy() != nullptr &&
           session.proxy()->complaints().find("Permission denied") != std::string::npos;
}

// A server that hangs up at once says little about why.
Error explain_loss(const SshSession& session, const SshSettings& settings, Error error) {
    if (!session.broken() || *session.broken() != error || !session.farewell().empty()) {
        return error;
    }
    if (session.proxy() != nullptr) {
        const auto complaint = session.proxy()->complaint();
        error.message = fmt::format("no way to {} through {}{}{}", session.where(), settings.proxy_name,
                                    complaint.empty() ? "" : ": ", printable(complaint));
        error.hint = "does `ssh` by hand get through there?";
        return error;
    }
    const auto banner = session.banner();
    const bool said = !banner.empty() && !banner.starts_with("SSH-");
    error.message = fmt::format("{} closed the connection during the ssh handshake{}{}", session.where(),
                                said ? ": " : "", said ? printable(banner) : "");
    error.hint = "sshd may refuse this machine or be overloaded (on the host: journalctl -u ssh; MaxStartups "
                 "in sshd_config)";
    return error;
}

} // namespace

std::string ssh_name_of(const SshSettings& settings) {
    return settings.port.number == 22 ? settings.alias
                                      : fmt::format("{}:{}", settings.alias, settings.port.number);
}

std::string ssh_login_of(const SshSettings& settings) {
    return settings.proxy.empty() ? fmt::format("{}:{}", settings.host, settings.port.number)
                                  : settings.proxy_name;
}

SshPatience::SshPatience(milliseconds limit)
    : limit_(limit), crowd_limit_(crowd_patience * limit), pause_(first_pause),
      begin_(std::chrono::steady_clock::now()), random_(std::random_device{}()) {}

Task<bool> SshPatience::lasts(bool crowd) {
    limit_ = crowd ? std::max(limit_, crowd_limit_) : limit_;
    if (std::chrono::steady_clock::now() + pause_ > begin_ + limit_) {
        co_return false;
    }
    // Not in step with the others that were turned away.
    co_await pause_for(pause_ / 2 + milliseconds(std::uniform_int_distribution<milliseconds::rep>(
                                        0, pause_.count())(random_)));
    pause_ = std::min(pause_ * 2, longest_pause);
    co_return true;
}

Task<Result<Handle>> establish_ssh(boost::asio::any_io_executor executor, EngineAddress address,
                                   SshSettings settings, std::shared_ptr<const UserKeys> keys,
                                   milliseconds limit, std::string& beyond) {
    auto& commons = SshCommons::of(executor);
    auto place = co_await commons.begin_login(executor, ssh_login_of(settings)); // kept while it pauses
    limit = settings.connect_timeout.value_or(limit);
    const bool asks = !settings.batch && commons.questions(executor).asks();
    for (SshPatience patience(limit);;) {
        auto session = co_await connect(executor, address, settings, limit);
        CO_TRY(session);
        if (const auto agreed = co_await agree(*session, settings); !agreed) {
            beyond = asks && is_shut_on_the_way(**session)
                         ? settings.proxy_name + " on the way to it may ask for more than a key"
                         : (*session)->beyond;
            const bool crowd = (*session)->banner().find("MaxStartups") != std::string_view::npos;
            if (!turned_away(**session) || !co_await patience.lasts(crowd)) {
                co_return explain_loss(**session, settings, agreed.error());
            }
            continue;
        }
        const Error no_login{ErrorKind::timeout, "",
                             fmt::format("the login on {} did not finish", (*session)->where()),
                             "try `ssh` by hand"};
        const auto in = co_await with_timeout(log_in(*session, settings, keys, asks), login_limit, no_login);
        if (!in) {
            beyond = (*session)->beyond;
            co_return in.error();
        }
        (*session)->watch(settings.alive_interval, settings.alive_count);
        (*session)->keep_until_opened(std::move(place));
        co_return std::move(*session);
    }
}

} // namespace dockdist
