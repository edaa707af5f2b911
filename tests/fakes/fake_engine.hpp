// A ContainerEngine in memory: keeps containers, images and volumes as an engine would, logs every call as
// text, and does what a test scripts. The test runs everything on one io_context:
//
//   boost::asio::io_context io;
//   FakeEngine engine(io.get_executor(), "a");
//   engine.add_image("torch:2.6");
//   engine.fail("start_container", {ErrorKind::engine, "", "could not select device driver", ""});
//   const auto result = run_task(io, up(engine, …));
//   CHECK(engine.calls == std::vector<std::string>{"create_container vision-a", "start_container vision-a"});
//
// A call is logged as its method's name, then what it acts on (the container's *name*, the image, the volume,
// the exec's command): "create_exec vision-a: dockdist-init join {…}". Scripts name a call by the beginning
// of that text.
#pragma once

#include "client/async/async_event.hpp"
#include "client/container/container_engine.hpp"
#include "fakes/run_task.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// The inside of a started exec, for the script that plays the process.
class FakeExec {
public:
    struct Shared;
    explicit FakeExec(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    const ExecConfig& config() const;
    const ContainerId& container() const;
    const std::string& container_name() const;

    void out(std::string bytes); // to stdout, one chunk
    void err(std::string bytes);
    // Without '\n'; nothing at the end of stdin, which is also when the client has gone.
    Task<std::optional<std::string>> read_line();
    // What has come, at least a byte; "" at the end.
    Task<std::string> read_some();
    // Everything up to the end of stdin.
    Task<std::string> read_all();
    bool client_gone() const; // it destroyed its stream
    // The client's stream breaks with this error; the script goes on.
    void break_stream(Error error);
    // What an engine shows of a command that never began; the exit code for the script to return.
    int runtime_dies(std::string words);

private:
    std::shared_ptr<Shared> shared_;
};

class FakeEngine final : public ContainerEngine {
public:
    struct Upload {
        std::string path{};
        std::string tar{};
    };
    struct Container {
        ContainerId id{};
        std::string name{};
        ContainerConfig config{};
        ContainerState state = ContainerState::created;
        int exit_code = 0;
        bool oom_killed = false;
        std::string error{};
        std::string log{};             // stdout
        std::vector<Upload> uploads{}; // put_archive
        ContainerDiff diff{};
        std::map<std::string, std::string> archives{}; // what get_archive gives, by path
    };

    explicit FakeEngine(const boost::asio::any_io_executor& executor, std::string host = "node-0");
    ~FakeEngine() override;

    // --- what the host holds: look at it, change it ---
    std::map<std::string, Container> containers{}; // by name
    std::map<std::string, ImageDetails> images{};  // by reference
    std::map<std::string, VolumeDetails> volumes{};
    EngineInfo engine_info{};
    void add_image(const std::string& reference, std::string id = "");
    Container& add_container(const std::string& name, ContainerConfig config = {},
                             ContainerState state = ContainerState::running);
    Container& container(const std::string& name); // throws when there is none

    // --- what happened ---
    std::vector<std::string> calls{}; // in order of their beginning
    std::vector<std::string>
    writing_calls() const; // those that change something: creates, starts, execs, uploads, …
    std::vector<std::string>* common_log = nullptr; // set: each call is logged here too, as "host: call"

    // --- scripts; `call` is the beginning of a call's text ---
    // The next `times` such calls fail without effect; -1: all of them.
    void fail(std::string call, Error error, int times = 1);
    // The next one has its effect, and its answer is lost (ErrorKind::unreachable).
    void lose_answer(std::string call);
    // Such calls wait (before their effect) until release(), or until they are cancelled.
    void hold(std::string call);
    void release(const std::string& call);
    // Called at the beginning of each call, before its effect.
    std::function<void(const std::string& call)> on_call{};

    // Plays each exec whose command line (shell_join) contains `command`; the newest script that fits is
    // taken. What `script` returns is the exit code. An exec without a script cannot be started
    // (ErrorKind::internal).
    using ExecScript = std::function<Task<int>(FakeExec exec)>;
    void on_exec(std::string command, ExecScript script);
    void on_exec(std::string command, std::string out, int exit_code = 0, std::string err = "");

    // What a pull brings: progress messages, then the image is there. Without: pulling is refused
    // (not_found).
    void on_pull(const std::string& reference, std::vector<PullProgress> messages = {});
    std::string registry_auth{};                  // of the last pull
    std::map<std::string, std::string> exports{}; // what export_image gives, by reference
    std::vector<std::string> loads{};             // what load_image got
    ImageDetails loaded{};                        // what it brings, under `loaded_name`
    std::string loaded_name{};

    // What building an image says, and what it ends with: without an error, the image is there. A build that
    // nobody has scripted says nothing and succeeds.
    void on_build(const std::string& reference, std::vector<BuildOutput> output,
                  std::optional<Error> error = {});
    BuildConfig build_config{}; // of the last build
    Result<Builder> builder_is{Builder::classic};
    std::string build_tar{}; // the same

    void append_log(const std::string& name, const std::string& text);
    // The main process ends: state, exit code, a "die" event, the end of followed logs.
    void end_container(const std::string& name, int exit_code, bool oom = false);
    void emit(EngineEvent event);

    // --- ContainerEngine ---
    const HostName& host() const override { return host_; }
    const EngineAddress& address() const override { return address_; }
    bool podman() const override { return engine_info.podman; }
    int round_trips() const override { return static_cast<int>(calls.size()); }
    Task<Result<ApiVersion>> ping() override;
    Task<Result<EngineInfo>> info() override;
    Task<Result<std::vector<ContainerSummary>>> list_containers(ListQuery query) override;
    Task<Result<ContainerDetails>> inspect_container(ContainerId id) override;
    Task<Result<ContainerDiff>> container_diff(ContainerId id) override;
    Task<Result<ContainerId>> create_container(std::string name, ContainerConfig config) override;
    Task<Status> start_container(ContainerId id) override;
    Task<Result<std::unique_ptr<ExecStream>>> attach_container(ContainerId id) override;
    Task<Status> stop_container(ContainerId id, std::chrono::seconds grace) override;
    Task<Status> rename_container(ContainerId id, std::string name) override;
    Task<Status> remove_container(ContainerId id) override;
    Task<Result<std::unique_ptr<LogStream>>> container_logs(ContainerId id, LogQuery query) override;
    Task<Result<std::string>> container_log_tail(ContainerId id, int lines) override;
    Task<Status> put_archive(ContainerId id, std::string path, std::span<const char> tar) override;
    Task<Status> put_archive(ContainerId id, std::string path, std::unique_ptr<ByteSource> tar) override;
    Task<Result<std::unique_ptr<ByteSource>>> get_archive(ContainerId id, std::string path) override;
    Task<Result<ExecId>> create_exec(ContainerId id, ExecConfig config) override;
    Task<Result<std::unique_ptr<ExecStream>>> start_exec(ExecId id) override;
    Task<Result<ExecState>> inspect_exec(ExecId id) override;
    Task<Result<ImageDetails>> inspect_image(ImageRef ref) override;
    Task<Status> pull_image(ImageRef ref, std::string platform, std::string registry_auth,
                            std::function<void(const PullProgress&)> on_progress) override;
    Task<Result<std::unique_ptr<ByteSource>>> export_image(ImageRef ref) override; // of `exports`
    Task<Status> load_image(std::unique_ptr<ByteSource> tar, std::uint64_t size,
                            std::function<void(std::uint64_t)> on_sent) override; // into `loads`
    Task<Status> import_image(std::string repository, std::string tag, std::span<const char> tar) override;
    Task<Status> tag_image(ImageRef ref, std::string repository, std::string tag) override;
    Task<Status> remove_image(ImageRef ref) override;
    Task<Result<Builder>> builder(bool secrets) override;
    Task<Result<std::string>> build_image(BuildConfig config, std::span<const char> tar,
                                          std::function<void(const BuildOutput&)> on_output) override;
    Task<Result<VolumeDetails>> inspect_volume(std::string name) override;
    Task<Result<std::vector<VolumeDetails>>> list_volumes(std::vector<std::string> labels) override;
    Task<Result<VolumeDetails>> create_volume(std::string name, Labels labels) override;
    Task<Status> remove_volume(std::string name) override;
    Task<Result<std::unique_ptr<EventStream>>> events(EventFilter filter) override;

    struct Followed; // logs and events that are being followed

private:
    struct Failure {
        std::string call{};
        Error error{};
        int times = 1;
    };
    // Logs the call, waits for a turn of the loop and while it is held, and fails it when a script says so.
    Task<Status> begin(std::string call);
    bool take_lost(const std::string& call);
    Error lost() const;
    Error error(ErrorKind kind, std::string message, std::string hint = "") const;
    Container* find(const ContainerId& id);
    std::string name_of(const ContainerId& id);

    boost::asio::any_io_executor executor_;
    HostName host_;
    EngineAddress address_{};
    int created_ = 0;
    std::vector<Failure> failures_{};
    std::vector<std::string> lost_{};
    std::map<std::string, std::shared_ptr<AsyncEvent>> held_{};
    std::map<std::string, std::shared_ptr<FakeExec::Shared>> attached_{}; // by the container's name
    std::vector<std::pair<std::string, ExecScript>> scripts_{};
    std::map<std::string, std::shared_ptr<FakeExec::Shared>> execs_{}; // by exec id
    std::map<std::string, std::vector<PullProgress>> pulls_{};
    struct Build {
        std::vector<BuildOutput> output{};
        std::optional<Error> error{};
    };
    std::map<std::string, Build> builds_{}; // by reference
    std::vector<std::weak_ptr<Followed>> followed_{};
};

} // namespace dockdist
