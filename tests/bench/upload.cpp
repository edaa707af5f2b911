// Uploads a tar into a container, as `up` does with the toolkit: for scripts/bench, which measures it.
// upload URL CONTAINER TAR
#include "client/engine/docker_engine.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace dockdist;

namespace {

std::span<const char> map_file(const char* path) {
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat file{};
    if (descriptor < 0 || ::fstat(descriptor, &file) != 0) {
        return {};
    }
    const auto size = static_cast<std::size_t>(file.st_size);
    void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    ::close(descriptor);
    return bytes == MAP_FAILED ? std::span<const char>() : std::span(static_cast<const char*>(bytes), size);
}

// The engine goes with the coroutine: a kept ssh connection would keep the loop running.
Task<int> upload(EngineAddress address, ContainerId container, std::span<const char> tar) {
    const auto engine =
        make_docker_engine(co_await boost::asio::this_coro::executor,
                           {.host = HostName("host"), .address = std::move(address), .insecure = true});
    const auto uploaded = co_await engine->put_archive(std::move(container), "/", tar);
    if (!uploaded) {
        std::fputs((to_text(uploaded.error()) + "\n").c_str(), stderr);
    }
    co_return uploaded ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("upload URL CONTAINER TAR\n", stderr);
        return 2;
    }
    const auto address = parse_engine_address(argv[1]);
    const auto tar = map_file(argv[3]);
    if (!address || tar.empty()) {
        std::fputs("no such address, or no such file\n", stderr);
        return 2;
    }
    boost::asio::io_context io(1);
    int code = 1;
    boost::asio::co_spawn(io, upload(*address, ContainerId(argv[2]), tar),
                          [&](const std::exception_ptr& thrown, int result) { code = thrown ? 1 : result; });
    io.run();
    return code;
}
