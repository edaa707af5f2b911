#include "fakes/fake_engine.hpp"

namespace dockdist {

Task<Result<ContainerDiff>> FakeEngine::container_diff(ContainerId id) {
    const auto begun = co_await begin("container_diff " + name_of(id));
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    co_return found->diff;
}

} // namespace dockdist
