#include "client/image/context_walk.hpp"

#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <utility>
#include <vector>

namespace dockdist {
namespace {

struct CloseListing {
    void operator()(DIR* listing) const { ::closedir(listing); }
};

class ContextWalk {
public:
    ContextWalk(ContextFolder& context, const std::function<Status(const ContextEntry&)>& take)
        : context_(context), take_(take) {}

    Result<std::vector<ContextEntry>> list(const std::string& name) {
        const int folder = context_.root.below(name);
        Fd own(folder < 0 ? -1 : ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        const std::unique_ptr<DIR, CloseListing> listing(own.open() ? ::fdopendir(own.get()) : nullptr);
        if (!listing) {
            return unreadable_for_build(full(name), errno);
        }
        (void)own.release(); // closedir closes it
        std::vector<ContextEntry> all;
        while (const dirent* entry = ::readdir(listing.get())) {
            const std::string component = entry->d_name;
            ContextEntry found{.name = name.empty() ? component : name + "/" + component};
            if (component == "." || component == ".." ||
                ::fstatat(folder, component.c_str(), &found.status, AT_SYMLINK_NOFOLLOW) != 0) {
                continue; // gone in the meantime
            }
            if (S_ISLNK(found.status.st_mode)) {
                std::array<char, 4096> target{};
                const auto size = ::readlinkat(folder, component.c_str(), target.data(), target.size());
                found.target.assign(target.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
            }
            all.push_back(std::move(found));
        }
        std::ranges::sort(all, {}, &ContextEntry::name);
        return all;
    }

    Status walk_folder(const std::string& name) {
        auto all = list(name);
        TRY(all);
        for (auto& found : *all) {
            const bool ignored = context_.rules.ignored(found.name);
            const bool is_folder = S_ISDIR(found.status.st_mode);
            if (ignored && !(is_folder && context_.rules.may_keep_below(found.name))) {
                continue;
            }
            const auto told = is_folder ? walk_with_content(found, ignored) : tell(found);
            if (!told) {
                return told;
            }
        }
        return ok;
    }

    // A folder that is left out itself is told when something below it is.
    Status walk_with_content(const ContextEntry& found, bool ignored) {
        pending_.push_back(&found);
        if (!ignored) {
            if (const auto told = tell_pending(); !told) {
                return told;
            }
        }
        const auto walked = walk_folder(found.name);
        if (!pending_.empty() && pending_.back() == &found) {
            pending_.pop_back();
        }
        return walked;
    }

    Status tell_pending() {
        for (const auto* folder : std::exchange(pending_, {})) {
            if (const auto told = take_(*folder); !told) {
                return told;
            }
        }
        return ok;
    }

    Status tell(const ContextEntry& found) {
        if (!S_ISREG(found.status.st_mode) && !S_ISLNK(found.status.st_mode)) {
            return ok;
        }
        const auto told = tell_pending();
        return told ? take_(found) : told;
    }

    std::string full(const std::string& name) const {
        return name.empty() ? context_.path : context_.path + "/" + name;
    }

    ContextFolder& context_;
    const std::function<Status(const ContextEntry&)>& take_;
    std::vector<const ContextEntry*> pending_{}; // folders above, outermost first, that are not told yet
};

} // namespace

Status walk_context(ContextFolder& context, const std::function<Status(const ContextEntry&)>& take) {
    return ContextWalk(context, take).walk_folder("");
}

Error unreadable_for_build(const std::string& path, int number) {
    if (number == ENOENT) {
        return {ErrorKind::config, printable(path), "is gone since the build started",
                "run the command again while nothing changes that folder, or leave it out by a line in "
                ".dockerignore"};
    }
    return {ErrorKind::config, printable(path), std::string("cannot be read: ") + std::strerror(number),
            "make it readable for you, or leave it out by a line in .dockerignore"};
}

} // namespace dockdist
