// Files put into containers and taken out of them, as tars. Included by docker_engine.cpp alone.
#pragma once

#include "client/async/with_watch.hpp"
#include "client/engine/endpoints/requests.hpp"
#include "client/engine/endpoints/streamed_bytes.hpp"
#include "client/engine/endpoints/watch.hpp"
#include "client/engine/engine_calls.hpp"

#include <fmt/format.h>

namespace dockdist::endpoints {
namespace {

constexpr std::size_t answer_limit = 64U << 10U; // of an engine that has taken everything: nothing

std::string archive_path(const ContainerId& id, const std::string& path) {
    return item("containers", id.str(), "/archive") + query_string({{"path", path}});
}

HttpRequest put_request(const ContainerId& id, const std::string& path) {
    HttpRequest request;
    request.method = "PUT";
    request.target = archive_path(id, path);
    request.content_type = "application/x-tar";
    return request;
}

std::string put_text(const ContainerId& id) {
    return fmt::format("upload files into container {}", short_id(id.str()));
}

Task<Status> run_put(Session session, HttpRequest request, std::string what,
                     std::shared_ptr<std::uint64_t> heard) {
    const auto stream =
        co_await session->open_upload(std::move(request), what, [heard](std::uint64_t) { ++*heard; });
    CO_TRY(stream);
    const auto body = co_await (*stream)->read_all(answer_limit);
    if (!body) {
        co_return session->located(body.error());
    }
    co_return ok;
}

} // namespace

class ArchiveEndpoints : public virtual EngineCalls {
public:
    Task<Status> put_archive(ContainerId id, std::string path, std::span<const char> tar) override {
        const auto session = session_;
        constexpr std::size_t slowest = 256 * 1024; // bytes a second that an uplink must have
        auto request = put_request(id, path);
        request.borrowed_body = tar;
        const CallLimits limits{session->endpoint.limits.call + std::chrono::seconds(tar.size() / slowest)};
        const auto answer = co_await session->call(std::move(request), put_text(id), {}, limits);
        CO_TRY(answer);
        co_return ok;
    }

    Task<Status> put_archive(ContainerId id, std::string path, std::unique_ptr<ByteSource> tar) override {
        const auto session = session_;
        auto request = put_request(id, path);
        request.streamed_body = std::move(tar);
        const auto heard = std::make_shared<std::uint64_t>(0);
        co_return co_await with_watch(run_put(session, std::move(request), put_text(id), heard),
                                      watch_engine(session, put_text(id), heard));
    }

    Task<Result<std::unique_ptr<ByteSource>>> get_archive(ContainerId id, std::string path) override {
        const auto session = session_;
        auto stream = co_await session->open(
            get(archive_path(id, path)), fmt::format("read {} of container {}", path, short_id(id.str())));
        CO_TRY(stream);
        co_return bytes_of(session, std::move(*stream));
    }
};

} // namespace dockdist::endpoints
