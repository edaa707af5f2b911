// The session of a build: the engine's questions, and the answers to them. Included by docker_engine.cpp
// alone.
#pragma once

#include "client/async/async_event.hpp"
#include "client/async/children.hpp"
#include "client/engine/buildkit/build_session.hpp"
#include "client/engine/buildkit/folder_sender.hpp"
#include "client/engine/buildkit/grpc_server.hpp"
#include "client/engine/endpoints/requests.hpp"
#include "client/engine/http/http_stream.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::endpoints {
namespace {

// POST /session (moby, api/server/router/session): after the 101 the engine is the client of gRPC there.
HttpRequest session_request(const std::string& id, const std::string& folder_key) {
    auto request = post("/session");
    request.headers = {{"Connection", "Upgrade"},
                       {"Upgrade", "h2c"},
                       {"X-Docker-Expose-Session-Uuid", id},
                       {"X-Docker-Expose-Session-Name", "dockdist"},
                       {"X-Docker-Expose-Session-Sharedkey", folder_key}};
    for (const auto& method : build_session_methods()) {
        request.headers.emplace_back("X-Docker-Expose-Session-Grpc-Method", method);
    }
    return request;
}

// What the engine may ask for, and who is told of the bytes of files that it has had.
struct BuildAnswers {
    std::vector<BuildSecret> secrets{};
    std::map<std::string, std::shared_ptr<BuildFiles>> folders{};
    std::function<Task<std::optional<BuildLogin>>(std::string)> login{};
    std::function<void(std::uint64_t)> on_sent{};
};

// What the three below share.
struct Questions {
    Questions(const boost::asio::any_io_executor& executor, std::unique_ptr<HttpStream> from,
              BuildAnswers with)
        : stream(std::move(from)), answers(std::move(with)), changed(executor), asked(executor) {}
    std::unique_ptr<HttpStream> stream;
    BuildAnswers answers;
    GrpcServer server{{std::string(diff_copy)}};
    AsyncEvent changed; // there may be something to send
    AsyncEvent asked;   // `logins` has one more
    std::deque<std::pair<std::int32_t, std::string>> logins{};
    std::map<std::string, std::optional<BuildLogin>> found_logins{}; // by registry
    std::map<std::int32_t, FolderSender> senders{};
    std::size_t opened = 0;       // folders, so far
    std::uint64_t sent = 0;       // bytes of files, by senders that have ended
    std::uint64_t told = 0;       // of all, to on_sent
    std::optional<Error> fault{}; // the build cannot go on
};

void open_folder(Questions& all, const GrpcCall& call) {
    constexpr std::size_t most = 256; // a build opens a few
    if (++all.opened > most) {
        all.server.finish(call.stream, GrpcStatus::resource_exhausted);
        return;
    }
    const auto name = call.metadata.find("dir-name");
    const auto folder =
        name == call.metadata.end() ? all.answers.folders.end() : all.answers.folders.find(name->second);
    if (folder == all.answers.folders.end()) {
        all.server.finish(call.stream, GrpcStatus::not_found);
        return;
    }
    std::vector<std::string> only;
    const auto [begin, end] = call.metadata.equal_range("followpaths");
    for (auto path = begin; path != end; ++path) {
        only.push_back(path->second);
    }
    all.senders.emplace(call.stream, FolderSender(folder->second, only));
}

// What cannot be read here ends the build; what the engine says of its own failure it says in the build's
// answer, too.
void fail_sender(Questions& all, std::int32_t stream, const Error& error) {
    all.senders.erase(stream);
    all.server.finish(stream, GrpcStatus::internal);
    if (error.kind != ErrorKind::engine) {
        all.fault = error;
    }
}

void take_question(Questions& all, const GrpcCall& call) {
    const auto sender = all.senders.find(call.stream);
    switch (call.kind) {
    case GrpcCall::Kind::opened:
        open_folder(all, call);
        return;
    case GrpcCall::Kind::message:
        if (sender != all.senders.end()) {
            if (const auto taken = sender->second.take(call.message); !taken) {
                fail_sender(all, call.stream, taken.error());
            }
        }
        return;
    case GrpcCall::Kind::closed: // who has not had all has given up
        if (sender != all.senders.end() && !sender->second.has_all()) {
            all.sent += sender->second.sent();
            all.senders.erase(sender);
            all.server.finish(call.stream, GrpcStatus::good);
        }
        return;
    case GrpcCall::Kind::whole:
        break;
    }
    auto question = read_build_question(call, all.answers.secrets);
    if (question.login_for.empty()) {
        all.server.answer(call.stream, std::move(question.answer));
    } else {
        // So there are no more than calls that are open.
        std::erase_if(all.logins, [&](const auto& waiting) { return !all.server.is_open(waiting.first); });
        all.logins.emplace_back(call.stream, std::move(question.login_for));
        all.asked.set();
    }
}

Task<void> read_questions(Questions& all) {
    while (true) {
        const auto bytes = co_await all.stream->read();
        if (!bytes || bytes->empty() || !all.server.feed(*bytes)) {
            co_return;
        }
        for (const auto& call : all.server.take_calls()) {
            take_question(all, call);
        }
        all.changed.set();
    }
}

// The login for a registry, looked for once a build: the engine asks again for each image. No more registries
// than a build has.
Task<std::optional<BuildLogin>> login_for(Questions& all, std::string registry) {
    constexpr std::size_t most = 64;
    if (const auto known = all.found_logins.find(registry); known != all.found_logins.end()) {
        co_return known->second;
    }
    if (!all.answers.login || all.found_logins.size() == most) {
        co_return std::nullopt;
    }
    auto found = co_await all.answers.login(registry);
    all.found_logins[registry] = found;
    co_return found;
}

// One after the other: a helper may ask the user. The engine's other questions are answered meanwhile.
Task<void> find_logins(Questions& all) {
    while (true) {
        co_await all.asked.wait();
        all.asked.reset();
        while (!all.logins.empty()) {
            const auto [stream, registry] = std::move(all.logins.front());
            all.logins.pop_front();
            if (all.server.is_open(stream)) { // else nobody waits for it any more
                all.server.answer(stream, login_answer(co_await login_for(all, registry)));
                all.changed.set();
            }
        }
    }
}

// As much of the files as the engine takes now, and no more than a turn's share: reading blocks, and others
// have their turn between. Whether there may be more.
bool send_files(Questions& all) {
    constexpr std::size_t enough = 256U << 10U, share = 256U << 10U, least = 64;
    std::size_t read = 0;
    for (auto next = all.senders.begin(); next != all.senders.end() && !all.fault;) {
        const auto current = next++; // which may go
        const auto stream = current->first;
        auto& sender = current->second;
        bool open = all.server.is_open(stream); // the engine may have given it up
        while (open && read < share && all.server.waiting(stream) < enough) {
            const auto message = sender.next();
            if (!message) {
                fail_sender(all, stream, message.error());
                return true;
            }
            if (!*message) {
                break;
            }
            read += std::max(least, (*message)->size());
            open = all.server.send(stream, **message);
        }
        if (!open || sender.ended()) {
            all.sent += sender.sent();
            all.server.finish(stream, GrpcStatus::good);
            all.senders.erase(current);
        }
    }
    auto sent = all.sent;
    for (const auto& [stream, sender] : all.senders) {
        sent += sender.sent();
    }
    if (sent > all.told && all.answers.on_sent) {
        all.told = sent;
        all.answers.on_sent(sent);
    }
    return read >= share;
}

Task<void> send_answers(Questions& all) {
    while (!all.fault) {
        all.changed.reset();
        while (true) {
            const bool more = send_files(all);
            const auto output = all.server.take_output();
            if (!output) {
                co_return;
            }
            if (output->empty() && !more) {
                break;
            }
            if (output->empty()) {
                co_await boost::asio::post(boost::asio::use_awaitable);
            } else if (!co_await all.stream->write(*output)) {
                co_return;
            }
        }
        if (!all.fault) {
            co_await all.changed.wait();
        }
    }
}

// Until it is cancelled, or with what the build cannot go on for. A session that is lost is no error by
// itself: the engine notices, and the build fails if it needs what only the session could give.
Task<Error> serve_build(std::unique_ptr<HttpStream> stream, BuildAnswers answers) {
    const auto executor = co_await boost::asio::this_coro::executor;
    Questions all(executor, std::move(stream), std::move(answers));
    {
        detail::Children parts(executor);
        const auto ends_all = [&parts](Task<void> part) -> Task<void> {
            return [](Task<void> own, detail::Children others) -> Task<void> {
                co_await std::move(own);
                others.cancel();
            }(std::move(part), parts);
        };
        parts.start(ends_all(read_questions(all)));
        parts.start(ends_all(find_logins(all)));
        parts.start(ends_all(send_answers(all)));
        if (co_await parts.join(detail::Children::OnCancel::forward)) {
            detail::throw_cancelled();
        }
    }
    all.stream.reset();
    if (all.fault) {
        co_return *all.fault;
    }
    AsyncEvent never(executor);
    co_await never.wait();
    co_return Error{};
}

} // namespace
} // namespace dockdist::endpoints
