#include "image/image_relay.hpp"

#include "container/engine_words.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "image/docker_config.hpp"
#include "image/image_archive.hpp"
#include "image/pull_tracker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace dockdist {
namespace {

constexpr std::size_t piece_size = 256 * 1024;

} // namespace

// The words of Go's net/http and crypto/tls, which engines pass on.
bool needs_tls(std::string_view pull_error) {
    for (const std::string_view words : {"server gave HTTP response to HTTPS client", "tls: ", "x509: "}) {
        if (pull_error.find(words) != std::string_view::npos) {
            return true;
        }
    }
    return false;
}

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

Task<Status> ImageRelay::pull_from_relay(ImageRef from, std::string login, Step& step) {
    PullTracker tracker;
    co_return co_await engine().pull_image(from, "", login, [&](const PullProgress& message) {
        tracker.apply(message);
        if (tracker.has_begun()) {
            step.progress(tracker.text(), tracker.current(), tracker.total());
        }
    });
}

// Out of this machine's files: what the relay has would have to come back here first, and go the same way.
Task<Status> ImageRelay::load_from_here(std::string name, Step& step, Reporter& reporter) {
    auto archive = std::make_unique<ImageArchive>(*spool_, name);
    const auto size = archive->size();
    reporter.on(warning_event(
        {ErrorKind::engine, host(),
         fmt::format("its engine does not take images from its own loopback over plain HTTP: loading it from "
                     "this machine, {} more over this machine's link",
                     format_size(Bytes{size})),
         engine().podman() ? ""
                           : "\"insecure-registries\": [\"127.0.0.0/8\"] in that host's "
                             "/etc/docker/daemon.json spares it"}));
    co_return co_await engine().load_image(std::move(archive), size, [&](std::uint64_t sent) {
        step.progress("load from this machine", sent, size);
    });
}

Task<Status> ImageRelay::pull(const ImageRef& ref, const std::vector<std::string>& layers,
                              Reporter& reporter) {
    Step step(reporter, "image", host(), "send " + ref.str());
    const auto fail = [&](Error error) {
        step.failed(error.message);
        return error;
    };
    const auto registry = fmt::format("127.0.0.1:{}", listening().engine_port);
    ImageRef from(fmt::format("{}/dockdist/image@{}", registry, spool_->manifest_digest()));
    const auto login = registry_auth_header({.user = wire::relay_user, .password = token_}, registry);
    auto brought = co_await pull_from_relay(from, login, step);
    if (!brought && needs_tls(brought.error().message)) {
        from = ImageRef(registry + "/dockdist/image:sent");
        brought = co_await load_from_here(from.str(), step, reporter);
    }
    if (!brought) {
        auto error = brought.error();
        const auto at = error.message.find(": "); // "pull image 127.0.0.1:…/dockdist/image@sha256:…: why"
        error.message = "receive " + ref.str() + (at == std::string::npos ? ": " : "") +
                        (at == std::string::npos ? error.message : error.message.substr(at));
        if (const auto said = printable(lines().err().substr(0, lines().err().find('\n'))); !said.empty()) {
            error.message += " (its relay: " + said + ")";
            if (said.find("No space left") != std::string::npos) {
                error.hint = fmt::format("free disk space on that host ({} system df)",
                                         words_of(engine().podman()).program);
            }
        }
        const auto is_zstd = [](const SavedBlob& layer) { return layer.zstd; };
        if (error.message.find("invalid tar header") != std::string::npos &&
            std::ranges::any_of(spool_->image().layers, is_zstd)) {
            error.hint =
                "the image's layers are packed with zstd, which Docker takes from version 23 on: update that "
                "engine, or make the image with gzip";
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
