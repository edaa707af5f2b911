#include "fakes/fake_exec.hpp"

namespace dockdist {

Task<Result<std::unique_ptr<ExecStream>>> FakeEngine::attach_container(ContainerId id) {
    const std::string call = "attach_container " + name_of(id);
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    const auto shared = std::make_shared<FakeExec::Shared>(executor_);
    shared->container = found->id;
    shared->container_name = found->name;
    shared->config.command = {"attach"};
    for (const auto& [part, script] : scripts_) {
        if (part == "attach") {
            attached_[found->name] = shared;
            const ExecScript from_the_start = [shared, script](FakeExec process) -> Task<int> {
                while (!shared->started && !shared->client_gone) {
                    co_await shared->input_changed.wait_for_change();
                }
                if (!shared->started) {
                    co_return 0;
                }
                co_return co_await script(process);
            };
            auto stream = start_fake_exec(executor_, shared, from_the_start);
            if (take_lost(call)) {
                co_return lost();
            }
            co_return stream;
        }
    }
    co_return error(ErrorKind::internal, "the test has no script for an attached container");
}

} // namespace dockdist
