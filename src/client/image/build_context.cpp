#include "client/image/build_context.hpp"

#include "client/async/run_aside.hpp"
#include "client/image/context_folder.hpp"
#include "client/image/context_tar.hpp"
#include "client/image/temporary_files.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t sent_piece = std::size_t{1} << 20U;

} // namespace

Result<BuildContext> BuildContext::pack(const std::string& folder, std::string_view dockerfile,
                                        const PackProgress& on_progress, const ContextFiles& more) {
    auto opened = open_context(folder, dockerfile);
    TRY(opened);
    BuildContext context;
    context.dockerfile_ = opened->dockerfile;
    if (opened->own_rules) { // a builder that knows the common file alone would follow it
        opened->rules.drop(".dockerignore");
    } else {
        opened->rules.keep(".dockerignore");
    }
    opened->rules.keep(context.dockerfile_);
    const auto file = make_temporary_file();
    TRY(file);
    const auto packed = write_context(std::move(*opened), more, file->get(), on_progress);
    TRY(packed);
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
                                                    std::function<void(PackedSize)> on_progress,
                                                    ContextFiles more) {
    const auto executor = co_await boost::asio::this_coro::executor;
    // The executor's alone; what is posted after the end tells nobody.
    const auto tell = std::make_shared<std::function<void(PackedSize)>>(std::move(on_progress));
    struct Silence {
        std::shared_ptr<std::function<void(PackedSize)>> tell;
        ~Silence() { *tell = {}; }
    };
    const Silence silence{tell};
    co_return co_await run_aside<Result<BuildContext>>(
        [executor, tell, folder = std::move(folder), dockerfile = std::move(dockerfile),
         more = std::move(more)](const std::atomic<bool>& stop) {
            const auto on_packed = [&](PackedSize size) {
                boost::asio::post(executor, [tell, size] {
                    if (*tell) {
                        (*tell)(size);
                    }
                });
                return !stop;
            };
            return pack(folder, dockerfile, on_packed, more);
        });
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
