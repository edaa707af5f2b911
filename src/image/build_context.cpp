#include "image/build_context.hpp"

#include "async/async_event.hpp"
#include "core/text.hpp"
#include "image/context_tar.hpp"
#include "image/docker_ignore.hpp"
#include "image/temporary_files.hpp"
#include "tree/read_tree.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t sent_piece = std::size_t{1} << 20U;

// A Dockerfile's name below the folder, as the engine wants it; empty when it leaves the folder.
std::string name_below(std::string_view name) {
    const auto path = std::filesystem::path(name).lexically_normal();
    const auto text = path.string();
    const bool below = !text.empty() && text != "." && path.is_relative() && *path.begin() != "..";
    return below && !text.ends_with('/') ? text : std::string();
}

Status check_dockerfile(const std::string& folder, const std::string& name) {
    namespace fs = std::filesystem;
    const auto path = fs::path(folder) / name;
    std::error_code error;
    const auto real = fs::canonical(path, error);
    if (error || !fs::is_regular_file(real, error)) {
        const bool absent = !fs::exists(fs::symlink_status(path, error));
        return Error{ErrorKind::config, printable(path.string()),
                     absent ? "there is no Dockerfile of that name" : "is no file that can be read",
                     "a build needs a Dockerfile: write one there, or name the one that is meant"};
    }
    const auto root = fs::canonical(folder, error);
    if (std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first != root.end()) {
        return Error{ErrorKind::config, printable(path.string()),
                     "is a link out of the folder, where the engine cannot follow it",
                     "put a copy into the folder"};
    }
    return ok;
}

Result<DockerIgnore> read_rules(const std::string& folder, const std::string& dockerfile) {
    const auto path = (std::filesystem::path(folder) / ".dockerignore").string();
    std::string lines;
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.open() && errno != ENOENT) {
        return unreadable_for_build(path, errno);
    }
    if (file.open()) {
        const auto text = read_piece(file.get(), std::size_t{4} << 20U);
        if (!text) {
            return unreadable_for_build(path, errno);
        }
        lines = *text;
    }
    auto rules = DockerIgnore::parse(lines, printable(path));
    if (rules) {
        rules->keep(".dockerignore");
        rules->keep(dockerfile);
    }
    return rules;
}

// What pack_aside shares with its thread; all but `stop` belongs to the coroutine's executor.
struct Packing {
    explicit Packing(const boost::asio::any_io_executor& executor) : done(executor) {}
    void tell(PackedSize size) const {
        if (on_progress && !stop) {
            on_progress(size);
        }
    }
    AsyncEvent done;
    std::function<void(PackedSize)> on_progress{};
    std::optional<Result<BuildContext>> result{};
    std::atomic<bool> stop = false;
};

} // namespace

Result<BuildContext> BuildContext::pack(const std::string& folder, std::string_view dockerfile,
                                        const PackProgress& on_progress) {
    Fd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.open() && (errno == ENOENT || errno == ENOTDIR)) {
        return Error{ErrorKind::config, printable(folder),
                     errno == ENOENT ? "there is no such folder to build from" : "is no folder to build from",
                     "name the folder that holds the Dockerfile"};
    }
    if (!root.open()) {
        return unreadable_for_build(folder, errno);
    }
    BuildContext context;
    context.dockerfile_ = name_below(dockerfile);
    if (context.dockerfile_.empty()) {
        return Error{ErrorKind::config, printable(folder),
                     fmt::format("the Dockerfile '{}' is no name below that folder", printable(dockerfile)),
                     "put it into the folder: the engine sees nothing else"};
    }
    if (const auto there = check_dockerfile(folder, context.dockerfile_); !there) {
        return there.error();
    }
    auto rules = read_rules(folder, context.dockerfile_);
    if (!rules) {
        return rules.error();
    }
    const auto file = make_temporary_file();
    if (!file) {
        return file.error();
    }
    const auto packed = write_context(Folder(std::move(root)), folder, *rules, file->get(), on_progress);
    if (!packed) {
        return packed.error();
    }
    context.size_ = *packed;
    struct stat status{};
    if (::fstat(file->get(), &status) != 0) {
        return temporary_error(temporary_place(), errno);
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file->get(), 0);
    if (mapped == MAP_FAILED) {
        return temporary_error(temporary_place(), errno);
    }
    context.tar_ = {static_cast<const char*>(mapped), size};
    return context;
}

Task<Result<BuildContext>> BuildContext::pack_aside(std::string folder, std::string dockerfile,
                                                    std::function<void(PackedSize)> on_progress) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto packing = std::make_shared<Packing>(executor);
    packing->on_progress = std::move(on_progress);
    struct End {
        std::shared_ptr<Packing> packing;
        std::thread thread;
        ~End() {
            packing->stop = true;
            thread.join();
        }
    };
    const End end{packing, std::thread([executor, packing, folder = std::move(folder),
                                        dockerfile = std::move(dockerfile)] {
                      auto context = pack(folder, dockerfile, [&](PackedSize size) {
                          boost::asio::post(executor, [packing, size] { packing->tell(size); });
                          return !packing->stop;
                      });
                      boost::asio::post(executor, [packing, context = std::move(context)]() mutable {
                          packing->result.emplace(std::move(context));
                          packing->done.set();
                      });
                  })};
    co_await packing->done.wait();
    co_return std::move(*packing->result);
}

BuildContext::BuildContext(BuildContext&& other) noexcept
    : tar_(std::exchange(other.tar_, {})), size_(other.size_), dockerfile_(std::move(other.dockerfile_)),
      let_go_(other.let_go_) {}

BuildContext& BuildContext::operator=(BuildContext&& other) noexcept {
    if (this != &other) {
        unmap();
        tar_ = std::exchange(other.tar_, {});
        size_ = other.size_;
        dockerfile_ = std::move(other.dockerfile_);
        let_go_ = other.let_go_;
    }
    return *this;
}

BuildContext::~BuildContext() {
    unmap();
}

void BuildContext::unmap() {
    if (!tar_.empty()) {
        ::munmap(const_cast<char*>(tar_.data()), tar_.size());
    }
    tar_ = {};
}

void BuildContext::let_go(std::uint64_t count) {
    const auto whole = std::min<std::uint64_t>(count, tar_.size()) / sent_piece * sent_piece;
    if (whole > let_go_) {
        ::madvise(const_cast<char*>(tar_.data()) + let_go_, whole - let_go_, MADV_DONTNEED);
        let_go_ = whole;
    }
}

} // namespace dockdist
