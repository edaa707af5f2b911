#include "probe/nccl_api.hpp"

namespace dockdist::probe {
namespace {

constexpr int oldest = 21000; // 2.10: ncclSend, ncclRecv (2.7), ncclBfloat16 (2.10)

Error too_old(const std::string& path, const std::string& what) {
    return Error{.kind = ErrorKind::not_found,
                 .message = path + " " + what,
                 .hint = "NCCL 2.10 or newer is needed; name another one with --libnccl"};
}

} // namespace

std::string nccl_version_text(int code) {
    const int thousand = code < 10000 ? 1000 : 10000;
    return std::to_string(code / thousand) + "." + std::to_string(code % thousand / 100) + "." +
           std::to_string(code % 100);
}

Result<NcclApi> open_nccl(const std::vector<std::string>& paths, const char* name) {
    const auto library = Library::open(name, paths);
    TRY(library);
    NcclApi api;
    std::vector<std::string> missing;
    const auto need = [&](auto& function, const char* name) { library->need(function, name, missing); };
    need(api.version, "ncclGetVersion");
    need(api.unique_id, "ncclGetUniqueId");
    need(api.init, "ncclCommInitRank");
    need(api.destroy, "ncclCommDestroy");
    need(api.abort, "ncclCommAbort");
    need(api.async_error, "ncclCommGetAsyncError");
    need(api.error_string, "ncclGetErrorString");
    need(api.all_reduce, "ncclAllReduce");
    need(api.all_gather, "ncclAllGather");
    need(api.reduce_scatter, "ncclReduceScatter");
    need(api.broadcast, "ncclBroadcast");
    need(api.send, "ncclSend");
    need(api.receive, "ncclRecv");
    need(api.group_start, "ncclGroupStart");
    need(api.group_end, "ncclGroupEnd");
    library->find(api.init_config, "ncclCommInitRankConfig");
    library->find(api.finalize, "ncclCommFinalize");
    library->find(api.last_error, "ncclGetLastError");
    if (!missing.empty()) {
        return too_old(library->path(), "has no " + missing.front());
    }
    if (api.version(&api.code) != nccl_success) {
        return Error{.kind = ErrorKind::node, .message = library->path() + " does not tell its version"};
    }
    if (api.code < oldest) {
        return too_old(library->path(), "is NCCL " + nccl_version_text(api.code));
    }
    api.path = library->path();
    return api;
}

} // namespace dockdist::probe
