#include "client/engine/engine_session.hpp"

#include "client/async/with_timeout.hpp"
#include "client/container/engine_words.hpp"
#include "client/engine/transport/connect_error.hpp"
#include "shared/core/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t error_body_limit = 64 * 1024;

std::string host_header(const EngineAddress& address) {
    if (address.scheme != EngineAddress::Scheme::tcp && address.scheme != EngineAddress::Scheme::tls) {
        return "localhost"; // required by HTTP, ignored by engines; a path in it would be refused
    }
    const bool ipv6 = address.host.find(':') != std::string::npos;
    const auto host = address.host.substr(0, address.host.find('%')); // no zone
    return ipv6 ? fmt::format("[{}]:{}", host, address.port.number)
                : fmt::format("{}:{}", host, address.port.number);
}

} // namespace

EngineSession::EngineSession(boost::asio::any_io_executor where, EngineEndpoint what,
                             std::shared_ptr<Transport> transport)
    : executor(std::move(where)), endpoint(std::move(what)),
      http(executor, transport, host_header(endpoint.address)), transport_(std::move(transport)),
      host_header_(host_header(endpoint.address)), podman_(is_podman_socket(endpoint.address.path)) {}

Error EngineSession::located(Error error) const {
    error.where = endpoint.host.str();
    if (error.kind == ErrorKind::timeout && error.hint.empty()) {
        const auto& words = words_of(podman_, is_users_socket(endpoint.address.path));
        error.hint = fmt::format("is {} on that host stuck? ({})", words.service, words.status);
    }
    return error;
}

// To the target: "/v1.40/…", as agreed with the engine. Tells what was asked, in words.
Task<Result<std::string>> EngineSession::add_version(HttpRequest& request) {
    const auto version = co_await negotiate();
    CO_TRY(version);
    auto words = request_in_words(request);
    const bool libpod = request.target.starts_with("/libpod/");
    request.target = "/v" + (libpod ? libpod_version_ : to_string(*version)) + request.target;
    co_return words;
}

Task<Result<ApiVersion>> EngineSession::negotiate(bool again) {
    if (api_ && !again) {
        co_return *api_;
    }
    while (negotiation_) {
        const auto running = negotiation_;
        co_await running->ended.wait();
        if (running->result) {
            co_return *running->result;
        } // else it was cancelled: our turn
    }
    const auto own = std::make_shared<Negotiation>(executor);
    negotiation_ = own;
    struct End {
        std::shared_ptr<EngineSession> session;
        std::shared_ptr<Negotiation> negotiation;
        ~End() {
            session->negotiation_.reset();
            negotiation->ended.set();
        }
    };
    const End end{shared_from_this(), own};
    own->result = co_await ping();
    co_return *own->result;
}

Task<Result<ApiVersion>> EngineSession::ping() {
    HttpRequest request;
    request.target = "/_ping";
    const auto answer =
        co_await http.call(std::move(request), CallLimits{endpoint.limits.call, error_body_limit});
    if (!answer) {
        co_return located(answer.error());
    }
    const auto version = agree_on_version(*answer, is_users_socket(endpoint.address.path));
    if (!version) {
        co_return located(version.error());
    }
    libpod_version_ = libpod_version_of(*answer);
    podman_ = !libpod_version_.empty();
    // Docker's engines of Linux have BuildKit since 18.09, and do what is asked of them by version=2. The
    // header came later; "1" says that its administrator has turned BuildKit off (daemon.json: features).
    builder_ = podman_                                                  ? Builder::buildah
               : find_header(answer->headers, "Builder-Version") == "1" ? Builder::classic
                                                                        : Builder::buildkit;
    builds_with_secrets_ =
        podman_ ? whole_number<int>(libpod_version_.substr(0, libpod_version_.find('.'))).value_or(0) >= 4
                : builder_ == Builder::buildkit;
    api_ = *version;
    co_return *version;
}

Task<Result<HttpResponse>> EngineSession::call(HttpRequest request, std::string what, std::vector<int> also) {
    return call(std::move(request), std::move(what), std::move(also), CallLimits{endpoint.limits.call});
}

Task<Result<HttpResponse>> EngineSession::call(HttpRequest request, std::string what, std::vector<int> also,
                                               CallLimits limits) {
    const auto self = shared_from_this();
    co_return co_await call_on(http, std::move(request), std::move(what), std::move(also), limits);
}

Task<Result<HttpResponse>> EngineSession::call_aside(HttpRequest request, std::string what,
                                                     std::vector<int> also, CallLimits limits) {
    const auto self = shared_from_this();
    HttpClient aside(executor, transport_, host_header_);
    ++own_round_trips_;
    co_return co_await call_on(aside, std::move(request), std::move(what), std::move(also), limits);
}

Task<Result<HttpResponse>> EngineSession::call_on(HttpClient& client, HttpRequest request, std::string what,
                                                  std::vector<int> also, CallLimits limits) {
    auto asked = co_await add_version(request);
    CO_TRY(asked);
    auto answer = co_await client.call(std::move(request), limits);
    if (!answer) {
        co_return located(answer.error());
    }
    const bool good = (answer->status >= 200 && answer->status < 300) ||
                      std::ranges::find(also, answer->status) != also.end();
    if (!good) {
        co_return located(engine_error(*answer, {std::move(what), std::move(*asked), podman_}));
    }
    co_return answer;
}

Task<Result<std::unique_ptr<HttpStream>>> EngineSession::open(HttpRequest request, std::string what,
                                                              int* status) {
    const auto self = shared_from_this();
    auto asked = co_await add_version(request);
    CO_TRY(asked);
    ++own_round_trips_;
    auto connection = http.take_idle();
    if (!connection) {
        auto made = co_await transport_->connect();
        if (!made) {
            co_return located(made.error());
        }
        connection = std::move(*made);
    }
    auto stream = co_await HttpStream::open(std::move(connection), std::move(request), host_header_,
                                            endpoint.limits.call);
    if (stream && status != nullptr) {
        *status = (*stream)->status();
    }
    co_return co_await accepted(std::move(stream), {std::move(what), std::move(*asked), podman_});
}

Task<Result<std::unique_ptr<HttpStream>>>
EngineSession::open_upload(HttpRequest request, std::string what,
                           std::function<void(std::uint64_t)> on_sent) {
    const auto self = shared_from_this();
    auto asked = co_await add_version(request);
    CO_TRY(asked);
    ++own_round_trips_;
    auto stream =
        co_await HttpStream::upload(transport_, std::move(request), host_header_, std::move(on_sent));
    co_return co_await accepted(std::move(stream), {std::move(what), std::move(*asked), podman_});
}

// The stream of a success; else the error that the answer tells.
Task<Result<std::unique_ptr<HttpStream>>> EngineSession::accepted(Result<std::unique_ptr<HttpStream>> stream,
                                                                  AskedCall asked) {
    if (!stream) {
        co_return located(stream.error());
    }
    const int status = (*stream)->status();
    if (status == 101 || (status >= 200 && status < 300)) {
        co_return stream;
    }
    HttpResponse answer{status, (*stream)->headers(), {}};
    auto body = co_await with_timeout(
        (*stream)->read_all(error_body_limit), endpoint.limits.call,
        Error{ErrorKind::timeout, "", asked.what + ": the engine's answer was incomplete", ""});
    if (body) {
        answer.body = std::move(*body);
    }
    co_return located(engine_error(answer, asked));
}

std::string to_string(ApiVersion version) {
    return fmt::format("{}.{}", version.major, version.minor);
}

} // namespace dockdist
