#include "fakes/fake_engine.hpp"
#include "fakes/text_source.hpp"

#include <fmt/format.h>

namespace dockdist {

Task<Status> FakeEngine::put_archive(ContainerId id, std::string path, std::span<const char> tar) {
    const std::string call = fmt::format("put_archive {} {}", name_of(id), path);
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    found->uploads.push_back({path, std::string(tar.data(), tar.size())});
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Status> FakeEngine::put_archive(ContainerId id, std::string path, std::unique_ptr<ByteSource> tar) {
    std::string all;
    while (true) {
        const auto bytes = co_await tar->read();
        CO_TRY(bytes);
        if (bytes->empty()) {
            break;
        }
        all += *bytes;
    }
    co_return co_await put_archive(std::move(id), std::move(path), std::span<const char>(all));
}

Task<Result<std::unique_ptr<ByteSource>>> FakeEngine::get_archive(ContainerId id, std::string path) {
    const auto begun = co_await begin(fmt::format("get_archive {} {}", name_of(id), path));
    CO_TRY(begun);
    auto* found = find(id);
    if (found == nullptr || !found->archives.contains(path)) {
        co_return error(ErrorKind::not_found, "Could not find the file " + path);
    }
    co_return text_source(found->archives[path]);
}

} // namespace dockdist
