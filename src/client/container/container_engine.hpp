// The narrow interface to one host's engine. Everything above speaks to this interface; tests put a fake
// behind it.
//
// Every call is one API request (one round trip) unless it says otherwise. Each has a deadline of its own, so
// none hangs on an engine that accepts and never answers (ErrorKind::timeout). Errors carry where =
// host().str() and the engine's own message. Calls made at the same time to one engine are safe; reads (GET)
// made at the same time share one connection and travel together (HTTP/1.1 pipelining), so that a group of
// them costs one round trip. Cancelling the awaiting coroutine abandons the call; the request may still have
// its effect on the engine.
#pragma once

#include "client/async/task.hpp"
#include "client/container/types.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dockdist {

enum class StdStream { in = 0, out = 1, err = 2 };

// The upgraded stream of an exec, or of a container's first process. Destroying it closes the connection; the
// process inside runs on (there is no exec kill).
class ExecStream {
public:
    struct Chunk {
        StdStream stream = StdStream::out;
        std::string bytes{};
        bool end = false; // nothing follows; bytes is empty
    };

    ExecStream() = default;
    ExecStream(const ExecStream&) = delete;
    ExecStream& operator=(const ExecStream&) = delete;
    virtual ~ExecStream() = default;

    // The next bytes, at most 64 KiB, of either stream. No deadline. One reader at a time.
    virtual Task<Result<Chunk>> read() = 0;
    // Writes all of `bytes` to stdin. One writer at a time, beside a reader.
    virtual Task<Status> write(std::span<const char> bytes) = 0;
    // Half-closes: the process sees the end of its stdin, its output goes on.
    virtual Task<Status> close_stdin() = 0;
};

class LogStream {
public:
    virtual ~LogStream() = default;
    virtual Task<Result<ExecStream::Chunk>> read() = 0;
};

// A streamed answer as bytes.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    virtual Task<Result<std::string>> read() = 0; // "" at the end; no deadline
};

class EventStream {
public:
    virtual ~EventStream() = default;
    virtual Task<Result<EngineEvent>> next() = 0; // no deadline
};

struct LogQuery {
    bool follow = false;
    int tail = -1; // lines; -1: all
    bool timestamps = false;
};

struct ListQuery {
    std::vector<std::string> labels{}; // "name" or "name=value"; all must match
    bool running_only = false;
};

class ContainerEngine {
public:
    ContainerEngine() = default;
    ContainerEngine(const ContainerEngine&) = delete;
    ContainerEngine& operator=(const ContainerEngine&) = delete;
    virtual ~ContainerEngine() = default;

    virtual const HostName& host() const = 0;
    virtual const EngineAddress& address() const = 0;
    // Whether it is Podman: as its first answer says, and before that as its socket's name does. For words
    // (engine_words.hpp); what it can do is known of EngineInfo.
    virtual bool podman() const = 0;
    // Requests sent one after another so far: a group of pipelined reads counts once. For --timings.
    virtual int round_trips() const = 0;

    // GET /_ping (HEAD is not needed): checks that a Docker engine answers and agrees on an API version.
    // Every other call does this first when it was not done. Errors: unreachable, timeout, protocol (not
    // Docker).
    virtual Task<Result<ApiVersion>> ping() = 0;
    virtual Task<Result<EngineInfo>> info() = 0;

    virtual Task<Result<std::vector<ContainerSummary>>> list_containers(ListQuery query) = 0;
    virtual Task<Result<ContainerDetails>> inspect_container(ContainerId id) = 0;
    // Two requests. Errors also where the engine's way of storing containers cannot tell.
    virtual Task<Result<ContainerDiff>> container_diff(ContainerId id) = 0;
    // conflict (409): the name is taken; not_found (404): the image is not there.
    virtual Task<Result<ContainerId>> create_container(std::string name, ContainerConfig config) = 0;
    virtual Task<Status> start_container(ContainerId id) = 0; // 304 (runs already) is success
    // To the stdin and stdout of a container that was made with `stdin_once`, from before its start on.
    virtual Task<Result<std::unique_ptr<ExecStream>>> attach_container(ContainerId id) = 0;
    virtual Task<Status> stop_container(ContainerId id, std::chrono::seconds grace) = 0;
    // conflict (409): another container has the name. It may run.
    virtual Task<Status> rename_container(ContainerId id, std::string name) = 0;
    // Forced, with its anonymous volumes. Done when the container is gone: 404 is success, "already in
    // progress" is waited for.
    virtual Task<Status> remove_container(ContainerId id) = 0;
    virtual Task<Result<std::unique_ptr<LogStream>>> container_logs(ContainerId id, LogQuery query) = 0;
    // The last `lines` lines of stdout, unframed; one round trip.
    virtual Task<Result<std::string>> container_log_tail(ContainerId id, int lines) = 0;
    // Uploads an uncompressed tar that the caller keeps alive; extracted at `path` inside the container.
    virtual Task<Status> put_archive(ContainerId id, std::string path, std::span<const char> tar) = 0;
    // The same of a tar whose size nobody knows yet. One that fails on the way leaves what has come.
    virtual Task<Status> put_archive(ContainerId id, std::string path, std::unique_ptr<ByteSource> tar) = 0;
    // A file or folder of a container, running or not, as a tar in which it stands by its last name. 404 is
    // not_found.
    virtual Task<Result<std::unique_ptr<ByteSource>>> get_archive(ContainerId id, std::string path) = 0;

    virtual Task<Result<ExecId>> create_exec(ContainerId id, ExecConfig config) = 0;
    virtual Task<Result<std::unique_ptr<ExecStream>>> start_exec(ExecId id) = 0;
    virtual Task<Result<ExecState>> inspect_exec(ExecId id) = 0;

    virtual Task<Result<ImageDetails>> inspect_image(ImageRef ref) = 0; // not_found when the host lacks it
    // Pulls; `on_progress` is called for each message. No deadline while messages come; 60 s of silence is a
    // timeout, unless all has come: while it is extracted, only an engine that is gone is noticed. An
    // image_at (image_address.hpp) is imported from there instead, with none of these.
    virtual Task<Status> pull_image(ImageRef ref, std::string platform, std::string registry_auth,
                                    std::function<void(const PullProgress&)> on_progress) = 0;

    // The image as `docker save` writes it: a tar.
    virtual Task<Result<std::unique_ptr<ByteSource>>> export_image(ImageRef ref) = 0;
    // Takes in what `docker save` writes, a tar of `size` bytes, which is read as fast as the engine takes
    // it. `on_sent` is told how many bytes it has. No deadline; an engine that is gone is noticed. Errors:
    // the source's; engine; protocol (it ended without an image).
    virtual Task<Status> load_image(std::unique_ptr<ByteSource> tar, std::uint64_t size,
                                    std::function<void(std::uint64_t)> on_sent) = 0;
    // Makes an image of one layer, the uncompressed tar, which the caller keeps alive.
    virtual Task<Status> import_image(std::string repository, std::string tag, std::span<const char> tar) = 0;
    virtual Task<Status> tag_image(ImageRef ref, std::string repository, std::string tag) = 0;
    // Takes the name away, and the image with its last name. 404 is success; conflict: a container uses it.
    virtual Task<Status> remove_image(ImageRef ref) = 0;
    // What build_image builds with there. An error (config) where `secrets` are to be given and it takes
    // none. BuildKit until build_image has found that the session which it needs is refused there: from then
    // on the classic builder.
    virtual Task<Result<Builder>> builder(bool secrets) = 0;
    // Builds by builder() from an uncompressed tar, which the caller keeps alive, or, with BuildKit, from
    // config.folders; the image's id.
    // `on_output` is called for each piece that was sent and each message that comes; what it gets is as the
    // build wrote it, not fit for a terminal. BuildKit's steps run side by side: what a step has written is
    // told when it fails. No deadline: a step may be silent for hours; an engine that is
    // gone is noticed. Cancelling ends the build. Errors: config, where the Dockerfile or its files are at
    // fault (the message names the step and its exit code); engine; protocol (cut, or no image came of it).
    virtual Task<Result<std::string>> build_image(BuildConfig config, std::span<const char> tar,
                                                  std::function<void(const BuildOutput&)> on_output) = 0;

    virtual Task<Result<VolumeDetails>> inspect_volume(std::string name) = 0;
    // Those that bear all of these: "name" or "name=value".
    virtual Task<Result<std::vector<VolumeDetails>>> list_volumes(std::vector<std::string> labels) = 0;
    // One that is there already stays as it is, and is what is answered: its labels tell whose it is.
    virtual Task<Result<VolumeDetails>> create_volume(std::string name, Labels labels) = 0;
    virtual Task<Status> remove_volume(std::string name) = 0; // 404 is success; conflict when in use

    virtual Task<Result<std::unique_ptr<EventStream>>> events(EventFilter filter) = 0;

    // By what else than dockdist's own connection it is reached, and why, once it has been: "your own ssh,
    // since …". Empty: by that.
    virtual std::string way() const { return ""; }
};

} // namespace dockdist
