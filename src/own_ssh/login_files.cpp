#include "own_ssh/login_files.hpp"

#include "core/fd.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "keys/ssh_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

namespace fs = std::filesystem;

constexpr mode_t own_file = 0600;
constexpr mode_t public_file = 0644;
const std::string include_pattern = "~/.ssh/dockdist/*.conf";

Error file_error(const fs::path& path, int number) {
    return {number == ENOENT ? ErrorKind::not_found : ErrorKind::internal, printable(path.string()),
            std::strerror(number), ""};
}

std::string home_of_account() {
    const auto* const account = ::getpwuid(::geteuid());
    return account != nullptr && account->pw_dir != nullptr ? account->pw_dir : "/";
}

std::uint64_t path_hash(const std::string& text) { // FNV-1a
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return hash;
}

Result<std::string> read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return file_error(path, errno);
    }
    return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string text_or_empty(const fs::path& path) {
    auto text = read_text(path);
    return text ? std::move(*text) : std::string();
}

Status write_whole(int fd, std::string_view bytes, const fs::path& path) {
    while (!bytes.empty()) {
        const auto count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR) {
            return file_error(path, errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return ok;
}

Status replace(const fs::path& path, std::string_view text, mode_t mode) {
    const auto fresh = path.parent_path() / fmt::format(".{}.{}", path.filename().string(), random_hex(8));
    Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file.open()) {
        return file_error(path, errno);
    }
    auto written = write_whole(file.get(), text, path);
    if (written && (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0 ||
                    ::rename(fresh.c_str(), path.c_str()) != 0)) {
        written = file_error(path, errno);
    }
    if (!written) {
        ::unlink(fresh.c_str());
    }
    return written;
}

Status make_private_folders(const fs::path& path) {
    std::error_code failed;
    if (fs::is_directory(path, failed)) {
        return ok;
    }
    if (path.has_parent_path() && path.parent_path() != path) {
        if (auto made = make_private_folders(path.parent_path()); !made) {
            return made;
        }
    }
    return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? Status(ok) : Status(file_error(path, errno));
}

// Held while it lives; where no lock can be had, writers are on their own.
class WriterLock {
public:
    explicit WriterLock(const fs::path& folder)
        : file_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, own_file)) {
        while (file_.open() && ::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
        }
    }

private:
    Fd file_;
};

std::vector<fs::path> entry_files(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (entry->path().extension() == ".conf") {
            files.push_back(entry->path());
        }
    }
    std::ranges::sort(files);
    return files;
}

// The text itself is replaced, behind links. `otherwise`: what its user can do.
Status rewrite_config(const fs::path& path, const std::string& text, const std::string& otherwise) {
    std::error_code ignored;
    std::error_code failed;
    const auto real = fs::is_symlink(path, ignored) ? fs::canonical(path, failed) : path;
    struct stat status{};
    const bool there = !failed && ::stat(real.c_str(), &status) == 0;
    const auto refusal = failed ? failed.value() : there && (status.st_mode & S_IWUSR) == 0U ? EACCES : 0;
    const auto written = refusal == 0 ? replace(real, text, there ? status.st_mode & 07777U : own_file)
                                      : Status(file_error(real.empty() ? path : real, refusal));
    if (written) {
        return ok;
    }
    auto error = written.error();
    error.hint = otherwise;
    return error;
}

} // namespace

LoginPlaces login_places(const std::function<std::optional<std::string>(const std::string&)>& environment) {
    const auto named = [&](const char* name) {
        auto value = environment(name).value_or("");
        return value.starts_with('/') ? value : std::string(); // relative ones count as not set, as XDG says
    };
    const auto home = named("HOME");
    const auto state = named("XDG_STATE_HOME");
    return {.state = (state.empty() ? fs::path(home.empty() ? home_of_account() : home) / ".local/state"
                                    : fs::path(state)) /
                     "dockdist/ssh",
            .ssh = fs::path(home_of_account()) / ".ssh",
            .state_home = state};
}

LoginFiles::LoginFiles(LoginPlaces places, const std::string& cluster, const std::string& file)
    : places_(std::move(places)) {
    const auto name = fmt::format("{}-{:016x}", cluster, path_hash(file));
    folder_ = places_.state / name;
    entries_ = places_.ssh / "dockdist" / (name + ".conf");
}

bool LoginFiles::installed() const {
    std::error_code failed;
    return fs::exists(entries_, failed);
}

Status LoginFiles::make_folder() const {
    return make_private_folders(folder_);
}

Result<std::string> LoginFiles::public_key() const {
    auto text = read_text(folder_ / "id_ed25519.pub");
    if (!text) {
        return text;
    }
    if (::access(key().c_str(), F_OK) != 0) {
        return file_error(key(), errno);
    }
    const auto line = text->substr(0, text->find('\n'));
    const auto comment = line.find(' ', line.find(' ') + 1);
    auto key = line.substr(0, comment);
    return is_ed25519_key(key)
               ? Result<std::string>(std::move(key))
               : Error{ErrorKind::internal, (folder_ / "id_ed25519.pub").string(),
                       "it is no ssh-ed25519 public key", "`dockdist ssh-config --remove`, then again"};
}

Result<std::string> LoginFiles::make_key() const {
    if (auto made = make_folder(); !made) {
        return made.error();
    }
    const WriterLock lock(places_.state);
    if (auto there = public_key(); there || there.error().kind != ErrorKind::not_found) {
        return there;
    }
    const auto pair = make_ssh_key();
    auto written = replace(key(), pair.private_file, own_file);
    if (written) { // last: who finds it finds both
        written = replace(folder_ / "id_ed25519.pub", pair.public_line + " dockdist\n", public_file);
    }
    return written ? Result<std::string>(pair.public_line) : written.error();
}

Status LoginFiles::write_known_hosts(const std::vector<SshNode>& nodes) const {
    if (auto made = make_folder(); !made) {
        return made;
    }
    std::string text;
    for (const auto& node : nodes) {
        auto more = with_host_key(text, node.node, node.host_key);
        if (!more) {
            return more.error();
        }
        text = std::move(*more);
    }
    const WriterLock lock(places_.state);
    return replace(known_hosts(), text, own_file);
}

Status LoginFiles::renew_host_key(const std::string& node, const std::string& host_key) const {
    const auto before = text_or_empty(known_hosts());
    auto text = with_host_key(before, node, host_key);
    if (!text || *text == before) {
        return text ? Status(ok) : Status(text.error());
    }
    const WriterLock lock(places_.state);
    text = with_host_key(text_or_empty(known_hosts()), node, host_key);
    return text ? replace(known_hosts(), *text, own_file) : text.error();
}

Status LoginFiles::install(const std::string& text) const {
    const auto folder = entries_.parent_path();
    for (const auto& path : {places_.state, folder}) {
        if (auto made = make_private_folders(path); !made) {
            return made;
        }
    }
    const WriterLock lock(places_.state);
    const auto names = entry_names(text);
    for (const auto& other : entry_files(folder)) {
        if (other == entries_) {
            continue;
        }
        for (const auto& name : entry_names(text_or_empty(other))) {
            if (std::ranges::find(names, name) != names.end()) {
                const auto whose = text_or_empty(other);
                return Error{ErrorKind::conflict, name,
                             "another cluster's entries have this name (" +
                                 printable(whose.substr(0, whose.find('\n'))) + ")",
                             "give these another one: `dockdist ssh-config --install --as NAME`; where that "
                             "cluster is no more, remove " +
                                 printable(other.string())};
            }
        }
    }
    if (auto written = replace(entries_, text, own_file); !written) {
        return written;
    }
    const auto config = places_.ssh / "config";
    const auto now = read_text(config);
    if (!now && now.error().kind != ErrorKind::not_found) {
        return now.error();
    }
    const auto included = with_include(now ? *now : "", include_pattern);
    return included ? rewrite_config(config, *included,
                                     "put the line `Include " + include_pattern + "` at its top yourself")
                    : Status(ok);
}

Result<bool> LoginFiles::remove() const {
    std::error_code failed;
    if (!fs::exists(folder_, failed) && !installed()) {
        return false;
    }
    Status done = ok;
    std::error_code ignored;
    {
        const WriterLock lock(places_.state);
        if (fs::remove_all(folder_, failed); failed) { // the key first
            done = file_error(folder_, failed.value());
        }
        if (fs::remove(entries_, failed); failed) {
            done = file_error(entries_, failed.value());
        }
        const auto config = places_.ssh / "config";
        if (entry_files(entries_.parent_path()).empty()) {
            if (const auto text = without_include(text_or_empty(config), include_pattern)) {
                const auto written = rewrite_config(
                    config, *text, "take the line `Include " + include_pattern + "` out yourself");
                done = written ? done : written;
            }
            fs::remove(entries_.parent_path(), ignored);
        }
    }
    // The last cluster's leave no folder behind.
    const fs::directory_iterator left(places_.state, ignored);
    if (!ignored && std::distance(fs::begin(left), fs::end(left)) == 1) {
        fs::remove(places_.state / "lock", ignored);
        fs::remove(places_.state, ignored);
        fs::remove(places_.state.parent_path(), ignored);
    }
    return done ? Result<bool>(true) : done.error();
}

} // namespace dockdist
