// What the calls to one engine share: its connection, and the API version agreed on. Endpoints hold it by
// shared_ptr, so that a call that is being cancelled may outlive the engine object.
#pragma once

#include "client/async/async_event.hpp"
#include "client/engine/docker_engine.hpp"
#include "client/engine/engine_error.hpp"
#include "client/engine/http/http_client.hpp"
#include "client/engine/http/http_stream.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

inline constexpr ApiVersion newest_api{1, 51};
inline constexpr ApiVersion oldest_api{1, 40};

class EngineSession : public std::enable_shared_from_this<EngineSession> {
public:
    EngineSession(boost::asio::any_io_executor executor, EngineEndpoint endpoint,
                  std::shared_ptr<Transport> transport);

    const boost::asio::any_io_executor executor;
    const EngineEndpoint endpoint;
    HttpClient http;

    // The version agreed on; asks once, also when many ask at the same time.
    Task<Result<ApiVersion>> negotiate(bool again = false);
    bool podman() const { return podman_; } // as ContainerEngine's
    // What the engine builds with, as its answer to the ping has it (after negotiate()), or since a session
    // was refused.
    Builder builder() const { return refused_session_ == 0 ? builder_ : Builder::classic; }
    // Whether Buildah takes secrets from the tar: before Podman 4 it would leave them among the image's
    // files.
    bool builds_with_secrets() const { return builds_with_secrets_; }
    // The status with which the engine, or what stands before it, has refused the session that BuildKit
    // needs; 0: it has not.
    int refused_session() const { return refused_session_; }
    void refuse_session(int status) { refused_session_ = status; }

    // `request.target` without the version, which is Docker's API's or, for libpod's paths, that API's own.
    // Answers of a status outside `also` and 2xx are errors that begin with `what` ("create container x").
    // All errors bear `where`.
    Task<Result<HttpResponse>> call(HttpRequest request, std::string what, std::vector<int> also = {});
    Task<Result<HttpResponse>> call(HttpRequest request, std::string what, std::vector<int> also,
                                    CallLimits limits);
    // On a connection of its own, for requests that take long by nature.
    Task<Result<HttpResponse>> call_aside(HttpRequest request, std::string what, std::vector<int> also,
                                          CallLimits limits);
    // A streamed answer, on the kept connection where that lies idle: a host has no more of them than it
    // needs, and nobody waits for one more to open. 101 is a success too. `status`, where it is given, is
    // told the answer's.
    Task<Result<std::unique_ptr<HttpStream>>> open(HttpRequest request, std::string what,
                                                   int* status = nullptr);

    // The same for a request with a body that takes as long as it takes: `on_sent` is told its bytes. No
    // deadline, neither for the body nor for the answer.
    Task<Result<std::unique_ptr<HttpStream>>> open_upload(HttpRequest request, std::string what,
                                                          std::function<void(std::uint64_t)> on_sent);

    Error located(Error error) const; // with `where`; of a timeout, with what to do where nobody has said it

    int round_trips() const { return http.round_trips() + own_round_trips_; }
    std::string way() const { return transport_->way(); }

private:
    struct Negotiation {
        explicit Negotiation(const boost::asio::any_io_executor& where) : ended(where) {}
        AsyncEvent ended;
        std::optional<Result<ApiVersion>> result{};
    };
    Task<Result<ApiVersion>> ping();
    Task<Result<std::string>> add_version(HttpRequest& request);
    Task<Result<std::unique_ptr<HttpStream>>> accepted(Result<std::unique_ptr<HttpStream>> stream,
                                                       AskedCall asked);
    Task<Result<HttpResponse>> call_on(HttpClient& client, HttpRequest request, std::string what,
                                       std::vector<int> also, CallLimits limits);

    std::shared_ptr<Transport> transport_;
    std::string host_header_;
    std::optional<ApiVersion> api_{};
    std::shared_ptr<Negotiation> negotiation_{};
    bool podman_ = false;
    std::string libpod_version_{}; // Podman's
    Builder builder_ = Builder::buildkit;
    bool builds_with_secrets_ = true;
    int refused_session_ = 0;
    int own_round_trips_ = 0;
};

// The API version in an answer to /_ping, or why there can be none. `of_user`: the engine is a user's own.
Result<ApiVersion> agree_on_version(const HttpResponse& ping, bool of_user = false);
std::string to_string(ApiVersion version); // "1.41"
// The version of Podman's own API (paths below /libpod/) that the same answer tells: "5.4.2"; empty:
// Docker's.
std::string libpod_version_of(const HttpResponse& ping);
inline constexpr const char* libpod_header = "Libpod-API-Version";

} // namespace dockdist
