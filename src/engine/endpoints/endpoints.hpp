// One function a request of ContainerEngine; the contracts stand there. Each holds the session while it runs.
#pragma once

#include "engine/engine_session.hpp"

#include <memory>

namespace dockdist::endpoints {

using Session = std::shared_ptr<EngineSession>;

Task<Result<EngineInfo>> info(Session session);

Task<Result<std::vector<ContainerSummary>>> list_containers(Session session, ListQuery query);
Task<Result<ContainerDetails>> inspect_container(Session session, ContainerId id);
Task<Result<ContainerId>> create_container(Session session, std::string name, ContainerConfig config);
Task<Status> start_container(Session session, ContainerId id);
Task<Status> stop_container(Session session, ContainerId id, std::chrono::seconds grace);
Task<Status> remove_container(Session session, ContainerId id);
Task<Result<std::unique_ptr<LogStream>>> container_logs(Session session, ContainerId id, LogQuery query);
Task<Result<std::string>> container_log_tail(Session session, ContainerId id, int lines);
Task<Status> put_archive(Session session, ContainerId id, std::string path, std::span<const char> tar);

Task<Result<ExecId>> create_exec(Session session, ContainerId id, ExecConfig config);
Task<Result<std::unique_ptr<ExecStream>>> start_exec(Session session, ExecId id, bool tty);
Task<Result<ExecState>> inspect_exec(Session session, ExecId id);
Task<Status> resize_exec(Session session, ExecId id, int rows, int columns);

Task<Result<ImageDetails>> inspect_image(Session session, ImageRef ref);
Task<Status> pull_image(Session session, ImageRef ref, std::string platform, std::string registry_auth,
                        std::function<void(const PullProgress&)> on_progress);

Task<Result<std::unique_ptr<ByteSource>>> export_image(Session session, ImageRef ref);
Task<Status> import_image(Session session, std::string repository, std::string tag,
                          std::span<const char> tar);
Task<Status> tag_image(Session session, ImageRef ref, std::string repository, std::string tag);
Task<Status> remove_image(Session session, ImageRef ref);
Task<Result<std::string>> build_image(Session session, BuildConfig config, std::span<const char> tar,
                                      std::function<void(const BuildOutput&)> on_output);

Task<Result<VolumeDetails>> inspect_volume(Session session, std::string name);
Task<Status> remove_volume(Session session, std::string name);

Task<Result<std::unique_ptr<EventStream>>> events(Session session, EventFilter filter);

} // namespace dockdist::endpoints
