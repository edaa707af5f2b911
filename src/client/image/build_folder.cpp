#include "client/image/build_folder.hpp"

#include "client/image/context_walk.hpp"
#include "shared/core/text.hpp"
#include "shared/digest/sha256.hpp"
#include "shared/tree/read_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <unistd.h>
#include <utility>

namespace dockdist {
namespace {

// A file system may tell times that nanoseconds do not reach: before 1677, after 2262.
std::int64_t nanoseconds(const timespec& time) {
    constexpr std::int64_t a_second = 1'000'000'000,
                           most = std::numeric_limits<std::int64_t>::max() / a_second - 1;
    return std::clamp<std::int64_t>(time.tv_sec, -most, most) * a_second + time.tv_nsec;
}

class FolderFiles final : public BuildFiles {
public:
    explicit FolderFiles(ContextFolder context) : context_(std::move(context)) {}

    Status read_list(const std::atomic<bool>& stop) {
        return walk_context(context_, [this, &stop](const ContextEntry& found) -> Status {
            if (stop) {
                return Error{ErrorKind::interrupted, "", "the reading of the build's folder was stopped", ""};
            }
            list_.push_back({.name = found.name,
                             .mode = found.status.st_mode,
                             .size = S_ISREG(found.status.st_mode)
                                         ? static_cast<std::uint64_t>(found.status.st_size)
                                         : std::uint64_t{0},
                             .time = nanoseconds(found.status.st_mtim),
                             .target = found.target});
            return ok;
        });
    }

    const std::vector<BuildFile>& list() const override { return list_; }

    // The engine takes one file after the other.
    Result<std::string> read(std::size_t index, std::uint64_t offset, std::size_t size) override {
        const auto& name = list_.at(index).name;
        if (!file_.open() || index != open_) {
            file_ = open_file(context_.root, name);
            open_ = index;
        }
        std::string bytes(size, '\0');
        const auto count =
            file_.open() ? ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) : -1;
        if (count < 0) {
            return unreadable_for_build(context_.path + "/" + name, errno);
        }
        bytes.resize(static_cast<std::size_t>(count));
        if (bytes.empty()) {
            file_ = Fd();
        }
        return bytes;
    }

private:
    ContextFolder context_;
    std::vector<BuildFile> list_{};
    Fd file_{};
    std::size_t open_ = 0; // whose file_ is
};

Result<std::shared_ptr<FolderFiles>> files_of(ContextFolder context, const std::atomic<bool>& stop) {
    auto files = std::make_shared<FolderFiles>(std::move(context));
    TRY(files->read_list(stop));
    return files;
}

} // namespace

Result<BuildFolders> read_build_folder(const std::string& folder, std::string_view dockerfile,
                                       const std::atomic<bool>& stop) {
    auto context = open_context(folder, dockerfile);
    auto file = open_context(folder, dockerfile);
    if (!context || !file) {
        return context ? file.error() : context.error();
    }
    const auto real = file->real_file;
    file->rules.drop_all();
    file->rules.keep(real);
    const auto all = files_of(std::move(*context), stop);
    TRY(all);
    const auto one = files_of(std::move(*file), stop);
    TRY(one);
    std::error_code ignored;
    const auto path = std::filesystem::canonical(folder, ignored).string();
    std::string host(256, '\0');
    ::gethostname(host.data(), host.size() - 1);
    host.resize(host.find('\0'));
    return BuildFolders{.folders = {{"context", *all}, {"dockerfile", *one}},
                        .dockerfile = real,
                        .key = sha256_hex(host + ":" + path)};
}

} // namespace dockdist
