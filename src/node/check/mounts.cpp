#include "node/check/mounts.hpp"

#include "node/check/peers.hpp"
#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/side_by_side.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/partial.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <iterator>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int look_limit_ms = 10000;
constexpr int forget_limit_ms = 5000;
constexpr std::size_t most_names = 10000;
constexpr std::string_view token_prefix = ".dockdist-check-";

std::map<std::string, std::string> token_files; // by folder, of this process

std::string token_file(const std::string& folder, const std::string& token, const std::string& node) {
    return under_root(folder.c_str()) + "/" + std::string(token_prefix) + token + "-" + node;
}

// Of names, not of times or sizes: a folder that somebody works in is still the same storage.
std::string listing(const std::string& path) {
    std::vector<std::string> names;
    if (DIR* const folder = ::opendir(path.c_str())) {
        for (const auto* entry = ::readdir(folder); entry != nullptr && names.size() < most_names;
             entry = ::readdir(folder)) {
            const std::string name(static_cast<const char*>(entry->d_name));
            if (!name.starts_with(token_prefix)) {
                names.push_back(name);
            }
        }
        ::closedir(folder);
    }
    std::ranges::sort(names);
    std::uint64_t hash = 1469598103934665603ULL; // FNV-1a
    for (const auto& name : names) {
        for (const auto c : name + "/") {
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
        }
    }
    return std::to_string(names.size()) + " " + std::to_string(hash);
}

} // namespace

Status note_tokens(const std::vector<std::string>& folders, const std::string& token) {
    const auto node = own_node_name();
    if (!is_plain_name(node)) {
        return Error{.kind = ErrorKind::node,
                     .message = "this node has not joined its cluster",
                     .hint = "run `dockdist up`"};
    }
    for (const auto& folder : folders) {
        token_files[folder] = token_file(folder, token, node);
    }
    return ok;
}

wire::MountFacts leave_token(const std::string& folder) {
    const auto path = under_root(folder.c_str());
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) {
        return {.folder = false};
    }
    if (const auto became = become(recorded_account()); !became) {
        return {.folder = true, .why = became.error().message};
    }
    const Fd file(
        ::open(token_files.at(folder).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    const int number = errno;
    struct stat there{};
    // Our own where one folder is mounted at two places; a link or a folder in its place is none of ours.
    const bool twice =
        number == EEXIST && ::lstat(token_files.at(folder).c_str(), &there) == 0 && S_ISREG(there.st_mode);
    if (file.open() || twice) {
        return {.folder = true, .written = true};
    }
    const std::string why = std::strerror(number); // NOLINT(concurrency-mt-unsafe): one thread
    const auto mounted = mounted_at(path);
    return {.folder = true,
            .why = why,
            .listing = listing(path),
            .source = mounted.source.empty() ? "" : mounted.source + " " + mounted.root};
}

Result<wire::LookForTokens::Answer> answer_look(const wire::LookForTokens& question) {
    std::vector<Part> parts;
    for (const auto& folder : question.mounts) {
        parts.push_back({folder, [&question, folder] {
                             std::vector<std::string> seen;
                             (void)become(recorded_account());
                             std::ranges::copy_if(
                                 question.nodes, std::back_inserter(seen), [&](const std::string& node) {
                                     struct stat about{};
                                     const auto file = token_file(folder, question.token, node);
                                     return ::lstat(file.c_str(), &about) == 0;
                                 });
                             return seen;
                         }});
    }
    wire::LookForTokens::Answer answer;
    const auto results = side_by_side(parts, look_limit_ms);
    for (const auto& folder : question.mounts) {
        answer.seen.insert_or_assign(folder, wire::read_partial<std::vector<std::string>>(
                                                 results.at(folder), "what was seen in a folder"));
    }
    return answer;
}

Result<wire::ForgetTokens::Answer> answer_forget(const wire::ForgetTokens&) {
    forget_tokens();
    return wire::ForgetTokens::Answer{};
}

void forget_tokens() {
    std::vector<Part> parts;
    for (const auto& [folder, file] : token_files) {
        parts.push_back(
            {folder, [path = file] { return become(recorded_account()) && ::unlink(path.c_str()) == 0; }});
    }
    (void)side_by_side(parts, forget_limit_ms);
    token_files.clear();
}

} // namespace dockdist::node
