#include "client/image/image_relay.hpp"

#include "client/container/engine_words.hpp"
#include "client/image/docker_config.hpp"
#include "client/image/image_archive.hpp"
#include "client/image/pull_tracker.hpp"
#include "client/image/registry_name.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

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
        CO_TRY(line);
        if (!*line) {
            co_return ok;
        }
        const auto message = wire::parse_relay_message(**line);
        if (!message || message->type != wire::RelayMessage::Type::want) {
            co_return Error{ErrorKind::protocol, "", "the relay said something other than what it wants", ""};
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

Task<Status> ImageRelay::pull_from_relay(std::string login) {
    PullTracker tracker;
    co_return co_await engine().pull_image(passing_name_, "", login, [&](const PullProgress& message) {
        tracker.apply(message);
        if (tracker.has_begun()) {
            step_->progress(tracker.text(), tracker.current(), tracker.total());
        }
    });
}

Error load_notice(const std::vector<std::string>& hosts, bool only_podman, std::uint64_t size) {
    const auto each = format_size(Bytes{size});
    const bool one = hosts.size() == 1;
    return {
        ErrorKind::engine, list_names(hosts),
        fmt::format("{} loopback over plain HTTP: loading it from this machine, {}; while {} loads it, {} "
                    "needs that much disk space once more",
                    one ? "its engine does not take images from its own"
                        : "their engines do not take images from their own",
                    one ? each + " more over this machine's link"
                        : fmt::format("{} more over this machine's link, {} for each host",
                                      format_size(Bytes{size * hosts.size()}), each),
                    one ? "it" : "a host", one ? "it" : "that host"),
        only_podman ? ""
                    : fmt::format("\"insecure-registries\": [\"127.0.0.0/8\"] in {} "
                                  "/etc/docker/daemon.json spares it",
                                  one ? "that host's" : "the Docker hosts'")};
}

Error ImageRelay::failed(Error error) {
    step_->failed(error.message);
    return error;
}

Error ImageRelay::why_not(const ImageRef& ref, Error error) {
    const auto at = error.message.find(": "); // "pull image 127.0.0.1:…/dockdist/image@sha256:…: why"
    error.message = "receive " + ref.str() + (at == std::string::npos ? ": " : "") +
                    (at == std::string::npos ? error.message : error.message.substr(at));
    const auto said = printable(lines().err().substr(0, lines().err().find('\n')));
    if (!said.empty()) {
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
            "the image's layers are packed with zstd, which Docker supports from version 23 on: update that "
            "engine, or make the image with gzip";
    }
    return error;
}

Task<Status> ImageRelay::look_at(const ImageRef& ref, const std::vector<std::string>& layers) {
    const auto there = co_await engine().inspect_image(ref);
    CO_TRY(there);
    co_return there->layers == layers
        ? Status(ok)
        : Error{ErrorKind::protocol, "", "what arrived is not the image that was sent", ""};
}

Task<Status> ImageRelay::pull(const ImageRef& ref, const std::vector<std::string>& layers,
                              Reporter& reporter) {
    step_.emplace(reporter, "image", host(), "send " + ref.str());
    const auto registry = fmt::format("127.0.0.1:{}", listening().engine_port);
    passing_name_ = ImageRef(fmt::format("{}/dockdist/image@{}", registry, spool_->manifest_digest()));
    const auto brought = co_await pull_from_relay(
        registry_auth_header({.user = wire::relay_user, .password = token_}, registry));
    if (!brought && needs_tls(brought.error().message)) {
        must_load_ = true;
        passing_name_ = {};
        step_->progress("wait to be loaded from this machine", std::nullopt, std::nullopt);
        co_return ok;
    }
    if (!brought) {
        co_return failed(why_not(ref, brought.error()));
    }
    if (const auto same = co_await look_at(passing_name_, layers); !same) {
        co_return failed(same.error());
    }
    const auto name = split_ref(ref.str());
    if (const auto tagged = co_await engine().tag_image(passing_name_, name.repository, name.tag); !tagged) {
        co_return failed(tagged.error());
    }
    if (const auto untagged = co_await engine().remove_image(passing_name_); !untagged) {
        co_return failed(untagged.error());
    }
    passing_name_ = {};
    step_->finished("sent");
    co_return ok;
}

// Out of this machine's files: what the relay has would have to come back here first, and go the same way.
Task<Status> ImageRelay::load(const ImageRef& ref, const std::vector<std::string>& layers) {
    auto archive = std::make_unique<ImageArchive>(*spool_, full_name(ref));
    const auto size = archive->size();
    const auto loaded = co_await engine().load_image(std::move(archive), size, [&](std::uint64_t sent) {
        step_->progress("load from this machine", sent, size);
    });
    if (!loaded) {
        co_return failed(why_not(ref, loaded.error()));
    }
    if (const auto same = co_await look_at(ref, layers); !same) {
        co_return failed(same.error());
    }
    step_->finished("sent");
    co_return ok;
}

Task<Status> ImageRelay::clean_up() {
    const auto removed = co_await remove();
    if (!removed || passing_name_.empty()) {
        co_return removed; // a host that does not answer is not asked twice
    }
    co_return co_await engine().remove_image(passing_name_); // well, where there is none
}

} // namespace dockdist
