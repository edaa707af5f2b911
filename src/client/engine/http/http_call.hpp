// A request on its way through HttpClient, and the errors it may end with.
#pragma once

#include "client/async/async_event.hpp"
#include "client/engine/http/http_client.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

namespace dockdist {

struct HttpCall {
    HttpCall(const boost::asio::any_io_executor& executor, HttpRequest what, CallLimits how)
        : request(std::move(what)), limits(how), done(executor) {}
    HttpRequest request;
    CallLimits limits;
    AsyncEvent done;
    Result<HttpResponse> result{HttpResponse{}};
    bool abandoned = false;

    bool repeatable() const { return request.method != "POST"; }
    void finish(Result<HttpResponse> with) {
        if (!done.is_set()) {
            result = std::move(with);
            done.set();
        }
    }
};
using HttpCallPointer = std::shared_ptr<HttpCall>;

inline Error lost_before_answer(const HttpCall& call, const Error& cause) {
    Error error = cause;
    if (error.kind == ErrorKind::unreachable) {
        error.message =
            fmt::format("the connection closed before the engine answered {} {}", call.request.method,
                        call.request.target.substr(0, call.request.target.find('?')));
        error.hint = "the engine may have been restarted; run the command again (what was done stays done)";
    }
    return error;
}

inline Error closed() {
    return {ErrorKind::unreachable, "", "the connection to the engine was closed", ""};
}

inline Error no_answer(const HttpCall& call) {
    return {ErrorKind::timeout, "",
            fmt::format("the engine accepted {} {} and did not answer within {}", call.request.method,
                        call.request.target.substr(0, call.request.target.find('?')),
                        format_duration(call.limits.deadline)),
            ""};
}

} // namespace dockdist
