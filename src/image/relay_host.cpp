#include "image/relay_host.hpp"

#include "async/pause.hpp"
#include "container/confine.hpp"
#include "core/text.hpp"
#include "image/docker_config.hpp"
#include "image/pull_tracker.hpp"

#include <fmt/format.h>

#include <fstream>

namespace dockdist {
namespace {

constexpr std::size_t piece_size = 256 * 1024;

struct Name {
    std::string repository{}, tag{};
};

Name split_name(const std::string& ref) {
    const auto slash = ref.rfind('/');
    const auto colon = ref.rfind(':');
    if (colon != std::string::npos && (slash == std::string::npos || colon > slash)) {
        return {ref.substr(0, colon), ref.substr(colon + 1)};
    }
    return {ref, "latest"};
}

} // namespace

Task<Status> RelayHost::make_container() {
    const auto there = co_await engine_.inspect_image(setting_.image);
    if (!there && there.error().kind != ErrorKind::not_found) {
        co_return there.error();
    }
    if (!there) {
        const auto name = split_name(setting_.image.str());
        if (const auto made = co_await engine_.import_image(name.repository, name.tag, setting_.tar); !made) {
            co_return made;
        }
    }
    ContainerConfig config;
    config.image = setting_.image;
    config.entrypoint = {"/dockdist-init"};
    config.command = {"image-relay", "hold"};
    config.network_mode = "host";
    config.labels = setting_.labels;
    config.disable_healthcheck = true;
    config.user = fmt::format("{0}:{0}", relay_account);
    config.mounts = {{.type = Mount::Type::volume, .target = relay_folder}};
    confine(config);
    may_be_there_ = true;
    const auto id = co_await engine_.create_container(setting_.container, std::move(config));
    if (!id) {
        may_be_there_ = id.error().kind == ErrorKind::unreachable || id.error().kind == ErrorKind::timeout;
        co_return id.error();
    }
    container_ = *id;
    co_return co_await engine_.start_container(container_);
}

Task<Status> RelayHost::start() {
    if (const auto made = co_await make_container(); !made) {
        co_return made;
    }
    auto exec = co_await start_command(engine_, container_, {.command = {"/dockdist-init", "image-relay"}});
    if (!exec) {
        co_return exec.error();
    }
    lines_ = std::make_unique<ExecLines>(std::move(*exec));
    const wire::RelayOpening opening{
        .token = setting_.token, .address = setting_.address, .most_ahead = setting_.most_ahead};
    if (const auto written = co_await lines_->write(wire::to_line(opening)); !written) {
        co_return written;
    }
    const auto line = co_await lines_->next_line();
    if (!line) {
        co_return line.error();
    }
    const auto message = *line ? wire::parse_relay_message(**line) : Result<wire::RelayMessage>(Error{});
    if (!message || message->type != wire::RelayMessage::Type::listening) {
        co_return Error{ErrorKind::node, "", "the image relay did not start: " + printable(lines_->err()),
                        ""};
    }
    listening_ = *message;
    co_return ok;
}

Task<Status> RelayHost::set_peers(wire::RelayPeers peers) {
    co_return co_await lines_->write(wire::to_line(peers));
}

Task<Status> RelayHost::give_ahead(const GrowingFiles& growing, AsyncEvent& read) {
    GrowingFiles::Place at;
    while (!read.is_set()) {
        const auto bytes = growing.next(at, piece_size);
        if (bytes.empty()) {
            co_await read.wait_for_change();
            continue;
        }
        const auto head = wire::to_line(wire::RelayPiece{.length = static_cast<std::int64_t>(bytes.size()),
                                                         .file = static_cast<int>(at.file)});
        if (const auto written = co_await lines_->write(head + bytes); !written) {
            co_return written;
        }
    }
    co_return ok;
}

Task<Status> RelayHost::tell_image(const ImageSpool& spool) {
    spool_ = &spool;
    wire::RelayImage image{.manifest = spool.manifest(), .media_type = std::string(manifest_media_type)};
    for (const auto& [digest, blob] : spool.blobs()) {
        image.blobs.push_back({digest, static_cast<std::int64_t>(blob.size), blob.file});
    }
    co_return co_await lines_->write(wire::to_line(image));
}

Task<Status> RelayHost::serve() {
    while (true) {
        const auto line = co_await lines_->next_line();
        if (!line) {
            co_return line.error();
        }
        if (!*line) {
            co_return ok;
        }
        const auto message = wire::parse_relay_message(**line);
        if (!message || message->type != wire::RelayMessage::Type::want) {
            co_return Error{ErrorKind::protocol, "", "the image relay said something else than what it wants",
                            ""};
        }
        giving_ = true;
        const auto given = co_await give(*message);
        giving_ = false;
        if (!given) {
            co_return given;
        }
        if (ended_) {
            co_await lines_->close_input();
        }
    }
}

Task<Status> RelayHost::give(const wire::RelayMessage& wanted) {
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
        if (const auto written = co_await lines_->write(head + bytes); !written) {
            co_return written;
        }
    }
    if (left > 0 && !ended_) {
        co_return co_await lines_->write(wire::to_line(wire::RelayPiece{.digest = wanted.digest}));
    }
    co_return ok;
}

Task<void> RelayHost::end() {
    ended_ = true;
    if (lines_ && !giving_) {
        co_await lines_->close_input();
    }
}

Task<Status> RelayHost::pull(const ImageRef& ref, const std::vector<std::string>& layers,
                             Reporter& reporter) {
    Step step(reporter, "image", host_, "send " + ref.str());
    const auto fail = [&](Error error) {
        step.failed(error.message);
        return error;
    };
    const auto registry = fmt::format("127.0.0.1:{}", listening_.engine_port);
    const ImageRef from(fmt::format("{}/dockdist/image@{}", registry, spool_->manifest_digest()));
    const auto login = registry_auth_header({.user = wire::relay_user, .password = setting_.token}, registry);
    PullTracker tracker;
    const auto pulled = co_await engine_.pull_image(from, "", login, [&](const PullProgress& message) {
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
        if (const auto said = printable(lines_->err().substr(0, lines_->err().find('\n'))); !said.empty()) {
            error.message += " (its image relay: " + said + ")";
            if (said.find("No space left") != std::string::npos) {
                error.hint = "free disk space on that host (docker system df)";
            }
        }
        co_return fail(std::move(error));
    }
    const auto there = co_await engine_.inspect_image(from);
    if (!there) {
        co_return fail(there.error());
    }
    if (there->layers != layers) {
        co_return fail({ErrorKind::protocol, "", "what arrived is not the image that was sent", ""});
    }
    const auto name = split_name(ref.str());
    if (const auto tagged = co_await engine_.tag_image(from, name.repository, name.tag); !tagged) {
        co_return fail(tagged.error());
    }
    if (const auto untagged = co_await engine_.remove_image(from); !untagged) {
        co_return fail(untagged.error());
    }
    step.finished("sent");
    co_return ok;
}

// The engine shows a container only when it is done with making it, maybe after we gave up.
Task<Status> RelayHost::find_container() {
    constexpr int most_tries = 20;
    for (int tries = 0; tries < most_tries; ++tries) {
        const auto there = co_await engine_.inspect_container(ContainerId(setting_.container)); // by its name
        if (there) {
            container_ = there->id;
            co_return ok;
        }
        if (there.error().kind != ErrorKind::not_found) {
            co_return there.error();
        }
        co_await pause_for(std::chrono::milliseconds(100));
    }
    co_return ok;
}

Task<Status> RelayHost::remove() {
    lines_.reset();
    if (container_.empty() && may_be_there_) {
        if (const auto found = co_await find_container(); !found) {
            co_return found;
        }
    }
    if (!container_.empty()) {
        if (const auto removed = co_await engine_.remove_container(container_); !removed) {
            co_return removed;
        }
    }
    const auto removed = co_await engine_.remove_image(setting_.image);
    co_return !removed && removed.error().kind != ErrorKind::conflict ? removed : Status(ok); // another run's
}

} // namespace dockdist
