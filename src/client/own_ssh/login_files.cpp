#include "client/own_ssh/login_files.hpp"

#include "client/own_ssh/user_files.hpp"
#include "shared/core/account.hpp"
#include "shared/core/fnv1a.hpp"
#include "shared/core/text.hpp"
#include "shared/keys/ssh_key.hpp"

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

namespace fs = std::filesystem;
using user_files::error_of;
using user_files::read_or_empty;
using user_files::replace;
using user_files::WriterLock;

constexpr mode_t own_file = 0600;
constexpr mode_t public_file = 0644;
constexpr const char* key_name = "id_ed25519";
const std::string include_pattern = "~/.ssh/dockdist/*.conf";

std::string home_or_root() {
    const auto home = own_account().home;
    return home.empty() ? "/" : home;
}

std::string name_of_machine() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

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

// Its user may have locked it; and what somebody else has put there (a shared file, a read-only mount) would
// become the user's own by being replaced.
bool may_rewrite(const fs::path& path, const struct stat& status) {
    return (status.st_mode & S_IWUSR) != 0U && status.st_uid == ::geteuid() &&
           ::access(path.c_str(), W_OK) == 0;
}

// The text itself is replaced, behind links. `otherwise`: what its user can do.
Status rewrite_config(const fs::path& path, const std::string& text, const std::string& otherwise) {
    std::error_code ignored;
    std::error_code failed;
    const auto real = fs::is_symlink(path, ignored) ? fs::canonical(path, failed) : path;
    struct stat status{};
    const bool there = !failed && ::stat(real.c_str(), &status) == 0;
    const auto refusal = failed ? failed.value() : there && !may_rewrite(real, status) ? EACCES : 0;
    const auto written = refusal == 0 ? replace(real, text, there ? status.st_mode & 07777U : own_file)
                                      : Status(error_of(real.empty() ? path : real, refusal));
    if (written) {
        return ok;
    }
    auto error = written.error();
    error.hint = otherwise;
    return error;
}

// The folder of the key that a file of entries names; empty where that is no place of ours for it.
fs::path key_folder(const fs::path& entries, const std::string& text) {
    const fs::path key = entries_origin(text).key;
    const auto folder = key.parent_path();
    const auto state = folder.parent_path();
    const bool ours = key.is_absolute() && key == key.lexically_normal() && key.filename() == key_name &&
                      folder.filename() == entries.stem() && state.filename() == "ssh" &&
                      state.parent_path().filename() == "dockdist";
    return ours ? folder : fs::path();
}

// The cluster.yaml of entries that lead nowhere any more; empty: it is there, or another machine's, or cannot
// be seen.
std::string gone_file(const std::string& text, const std::string& machine) {
    const auto origin = entries_origin(text);
    std::error_code ignored;
    const bool gone = !machine.empty() && origin.machine == machine && fs::path(origin.file).is_absolute() &&
                      fs::status(origin.file, ignored).type() == fs::file_type::not_found;
    return gone ? origin.file : "";
}

// Whether there was anything.
bool erase(const fs::path& path, Errors& errors) {
    std::error_code failed;
    const auto count = path.empty() ? 0 : fs::remove_all(path, failed);
    if (failed) {
        errors.push_back(error_of(path, failed.value()));
    }
    return failed || count > 0;
}

// The last key leaves no folder behind.
void leave_state(const fs::path& state) {
    std::error_code ignored;
    const fs::directory_iterator left(state, ignored);
    if (!ignored && std::distance(fs::begin(left), fs::end(left)) <= 1) {
        fs::remove(state / "lock", ignored);
        fs::remove(state, ignored);
        fs::remove(state.parent_path(), ignored);
    }
}

} // namespace

LoginPlaces login_places(const std::function<std::optional<std::string>(const std::string&)>& environment) {
    const auto named = [&](const char* name) {
        auto value = environment(name).value_or("");
        return value.starts_with('/') ? value : std::string(); // relative ones count as not set, as XDG says
    };
    const auto home = named("HOME");
    const auto state = named("XDG_STATE_HOME");
    const auto states =
        state.empty() ? fs::path(home.empty() ? home_or_root() : home) / ".local/state" : fs::path(state);
    return {.state = (states / "dockdist/ssh").lexically_normal(),
            .ssh = fs::path(home_or_root()) / ".ssh",
            .machine = name_of_machine()};
}

LoginFiles::LoginFiles(LoginPlaces places, const std::string& cluster, const std::string& file)
    : places_(std::move(places)) {
    const auto name = fmt::format("{}-{:016x}", cluster, fnv1a(file));
    folder_ = places_.state / name;
    entries_ = places_.ssh / "dockdist" / (name + ".conf");
}

LoginFiles LoginFiles::as_installed() const {
    auto files = *this;
    if (const auto folder = key_folder(entries_, read_or_empty(entries_)); !folder.empty()) {
        files.folder_ = folder;
        files.places_.state = folder.parent_path();
    }
    return files;
}

std::string LoginFiles::state_home() const {
    return places_.state.parent_path().parent_path().string();
}

bool LoginFiles::installed() const {
    std::error_code failed;
    return fs::exists(entries_, failed);
}

Status LoginFiles::make_folder() const {
    return user_files::make_folders(folder_);
}

Result<std::string> LoginFiles::public_key() const {
    auto text = user_files::read(folder_ / "id_ed25519.pub");
    if (!text) {
        return text;
    }
    if (::access(key().c_str(), F_OK) != 0) {
        return error_of(key(), errno);
    }
    const auto line = text->substr(0, text->find('\n'));
    const auto comment = line.find(' ', line.find(' ') + 1);
    auto key = line.substr(0, comment);
    return is_ed25519_key(key)
               ? Result<std::string>(std::move(key))
               : Error{ErrorKind::internal, (folder_ / "id_ed25519.pub").string(),
                       "it is not an ssh-ed25519 public key", "`dockdist ssh-config --remove`, then again"};
}

Result<std::string> LoginFiles::make_key() const {
    TRY(make_folder());
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
        TRY(more);
        text = std::move(*more);
    }
    const WriterLock lock(places_.state);
    return replace(known_hosts(), text, own_file);
}

Status LoginFiles::renew_host_key(const std::string& node, const std::string& host_key) const {
    const auto before = read_or_empty(known_hosts());
    auto text = with_host_key(before, node, host_key);
    if (!text || *text == before) {
        return text ? Status(ok) : Status(text.error());
    }
    const WriterLock lock(places_.state);
    text = with_host_key(read_or_empty(known_hosts()), node, host_key);
    return text ? replace(known_hosts(), *text, own_file) : text.error();
}

Status LoginFiles::install(const std::string& text) const {
    const auto folder = entries_.parent_path();
    for (const auto& path : {places_.state, folder}) {
        if (auto made = user_files::make_folders(path); !made) {
            return made;
        }
    }
    const WriterLock lock(places_.state);
    const auto names = entry_names(text);
    for (const auto& other : entry_files(folder)) {
        if (other == entries_) {
            continue;
        }
        const auto whose = read_or_empty(other);
        for (const auto& name : entry_names(whose)) {
            if (std::ranges::find(names, name) != names.end()) {
                const auto key_place = key_folder(other, whose);
                return Error{ErrorKind::conflict, name,
                             "another cluster's entries have this name (" +
                                 printable(whose.substr(0, whose.find('\n'))) + ")",
                             "give these another one: `dockdist ssh-config --install --as NAME`; if that "
                             "cluster no longer exists, remove " +
                                 printable(other.string()) +
                                 (key_place.empty() ? "" : " and " + printable(key_place.string()))};
            }
        }
    }
    if (auto written = replace(entries_, text, own_file); !written) {
        return written;
    }
    const auto config = places_.ssh / "config";
    const auto now = user_files::read(config);
    if (!now && now.error().kind != ErrorKind::not_found) {
        return now.error();
    }
    const auto included = with_include(now ? *now : "", include_pattern);
    return included ? rewrite_config(config, *included,
                                     "put the line `Include " + include_pattern + "` at its top yourself")
                    : Status(ok);
}

LoginRemoval LoginFiles::remove(Entries entries) const {
    LoginRemoval removal;
    std::vector<fs::path> states{places_.state};
    const auto erase_login = [&](const fs::path& folder, const fs::path& entries) { // the key first
        states.push_back(folder.parent_path());
        const bool had_key = erase(folder, removal.errors);
        return erase(entries, removal.errors) || had_key;
    };
    {
        const WriterLock lock(places_.state);
        const auto installed_folder = key_folder(entries_, read_or_empty(entries_));
        removal.own = erase_login(folder_, {});
        removal.kept = entries == Entries::keep && installed();
        removal.own = erase_login(installed_folder, removal.kept ? fs::path() : entries_) || removal.own;
        bool any = removal.own;
        for (const auto& other : entry_files(entries_.parent_path())) {
            const auto text = read_or_empty(other);
            if (auto file = gone_file(text, places_.machine); !file.empty() && other != entries_) {
                any = erase_login(key_folder(other, text), other) || any;
                removal.orphans.push_back(std::move(file));
            }
        }
        if (any && entry_files(entries_.parent_path()).empty()) {
            const auto config = places_.ssh / "config";
            if (const auto text = without_include(read_or_empty(config), include_pattern)) {
                const auto written = rewrite_config(
                    config, *text, "take the line `Include " + include_pattern + "` out yourself");
                if (!written) {
                    removal.errors.push_back(written.error());
                }
            }
            std::error_code ignored;
            fs::remove(entries_.parent_path(), ignored);
        }
    }
    std::ranges::for_each(states, leave_state);
    return removal;
}

} // namespace dockdist
