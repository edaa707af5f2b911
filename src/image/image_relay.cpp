#include "image/image_relay.hpp"

#include "core/text.hpp"
#include "image/docker_config.hpp"
#include "image/pull_tracker.hpp"

#include <fmt/format.h>

#include <fstream>

namespace dockdist {
namespace {

constexpr std::size_t piece_size = 256 * 1024;

} // namespace

Task<Status> ImageRelay::start() {
    if (const auto made = co_await make_container(); !made) {
        co_return made;
    }
    co_return co_await begin({.token = token_, .most_ahead = most_ahead_}, "");
}

Task<Status> ImageRelay::give_ahead(const GrowingFiles& growing, AsyncEvent& read) {
    GrowingFiles::Place at;
    while (!read.is_set()) {
        const auto bytes = growing.next(at, piece_size);
        if (bytes.empty()) {
            co_await read.wait_for_change();
            continue;
        }
        const auto head = wire::to_line(wire::RelayPiece{.length = static_cast<std::int64_t>(bytes.size()),
                                                         .file = static_cast<int>(at.file)});
        if (const auto written = co_await lines().write(head + bytes); !written) {
            co_return written;
        }
    }
    co_return ok;
}

Task<Status> ImageRelay::tell_image(const ImageSpool& spool) {
    spool_ = &spool;
    wire::RelayImage image{.manifest = spool.manifest(), .media_type = std::string(manifest_media_type)};
    for (const auto& [digest, blob] : spool.blobs()) {
        image.blobs.push_back({digest, static_cast<std::int64_t>(blob.size), blob.file});
    }
    co_return co_await lines().write(wire::to_line(image));
}

Task<Status> ImageRelay::serve() {
    while (true) {
        const auto line = co_await lines().next_line();
        if (!line) {
            co_return line.error();
        }
        if (!*line) {
            co_return ok;
        }
        const auto message = wire::parse_relay_message(**line);
        if (!message || message->type != wire::RelayMessage::Type::want) {
            co_return Error{ErrorKind::protocol, "", "the relay said something else than what it wants", ""};
        }
        giving_ = true;
        const auto given = co_await give(message->want);
        giving_ = false;
        if (!given) {
            co_return given;
        }
        if (ended_) {
            co_await lines().close_input();
        }
    }
}

Task<Status> ImageRelay::give(const wire::RelayRequest& wanted) {
    const auto blob = spool_->blobs().find(wanted.digest);
    auto left =
        blob == spool_->blobs().end() ? 0 : static_cast<std::int64_t>(blob->second.size) - wanted.offset;
    std::ifstream file(blob == spool_->blobs().end() ? std::string() : blob->second.path, std::ios::binary);
    file.seekg(wanted.offset);
    std::string bytes;
    while (left > 0 && !ended_) {
        bytes.resize(std::min(piece_size, static_cast<std::size_t>(left)));
        if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
            break; // the file went away under us
        }
        left -= static_cast<std::int64_t>(bytes.size());
        const auto head = wire::to_line(
            wire::RelayPiece{.digest = wanted.digest, .length = static_cast<std::int64_t>(bytes.size())});
        if (const auto written = co_await lines().write(head + bytes); !written) {
            co_return written;
        }
    }
    if (left > 0 && !ended_) {
        co_return co_await lines().write(wire::to_line(wire::RelayPiece{.digest = wanted.digest}));
    }
    co_return ok;
}

Task<void> ImageRelay::end() {
    ended_ = true;
    if (has_lines() && !giving_) {
        co_await lines().close_input();
    }
}

Task<Status> ImageRelay::pull(const ImageRef& ref, const std::vector<std::string>& layers,
                              Reporter& reporter) {
    Step step(reporter, "image", host(), "send " + ref.str());
    const auto fail = [&](Error error) {
        step.failed(error.message);
        return error;
    };
    const auto registry = fmt::format("127.0.0.1:{}", listening().engine_port);
    const ImageRef from(fmt::format("{}/dockdist/image@{}", registry, spool_->manifest_digest()));
    const auto login = registry_auth_header({.user = wire::relay_user, .password = token_}, registry);
    PullTracker tracker;
    const auto pulled = co_await engine().pull_image(from, "", login, [&](const PullProgress& message) {
        tracker.apply(message);
        if (tracker.current() > 0) {
            step.progress(tracker.text(), tracker.current(), tracker.total());
        }
    });
    if (!pulled) {
        auto error = pulled.error();
        const auto at = error.message.find(": "); // "pull image 127.0.0.1:…/dockdist/image@sha256:…: why"
        error.message = "receive " + ref.str() + (at == std::string::npos ? ": " : "") +
                        (at == std::string::npos ? error.message : error.message.substr(at));
        if (const auto said = printable(lines().err().substr(0, lines().err().find('\n'))); !said.empty()) {
            error.message += " (its relay: " + said + ")";
            if (said.find("No space left") != std::string::npos) {
                error.hint = "free disk space on that host (docker system df)";
            }
        }
        co_return fail(std::move(error));
    }
    const auto there = co_await engine().inspect_image(from);
    if (!there) {
        co_return fail(there.error());
    }
    if (there->layers != layers) {
        co_return fail({ErrorKind::protocol, "", "what arrived is not the image that was sent", ""});
    }
    const auto name = split_ref(ref.str());
    if (const auto tagged = co_await engine().tag_image(from, name.repository, name.tag); !tagged) {
        co_return fail(tagged.error());
    }
    if (const auto untagged = co_await engine().remove_image(from); !untagged) {
        co_return fail(untagged.error());
    }
    step.finished("sent");
    co_return ok;
}

} // namespace dockdist
