#include "node/session/setup_command.hpp"

#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"
#include "shared/digest/sha256.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr off_t largest_content = 16 << 20;
constexpr std::size_t longest_record = 1U << 20U;
constexpr std::string_view record_name = "/.dockdist-setup"; // in a target
// What tells pip, and whoever else builds it, what a folder is.
constexpr std::array<std::string_view, 5> project_files{"setup.py", "setup.cfg", "pyproject.toml",
                                                        "requirements.txt", "package.json"};

class Digest {
public:
    void add(std::string_view bytes) {
        hash_.add(std::to_string(bytes.size()) + ":");
        hash_.add(bytes);
    }
    // False where there is no such file.
    bool add_file(const std::string& path) {
        const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        struct stat status{};
        if (!file.open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
            return false;
        }
        add(path);
        add(std::to_string(status.st_size));
        if (status.st_size > largest_content) {
            add(std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec));
            return true;
        }
        std::array<char, 65536> buffer{};
        ssize_t count = 0;
        while ((count = ::read(file.get(), buffer.data(), buffer.size())) > 0) {
            hash_.add({buffer.data(), static_cast<std::size_t>(count)});
        }
        return true;
    }
    std::string text() { return hash_.hex().substr(0, wire::setup_text_digest_size); }

private:
    Sha256 hash_{};
};

std::string text_part(const std::string& digest) {
    return digest.substr(0, wire::setup_text_digest_size);
}
std::string files_part(const std::string& digest) {
    return digest.substr(wire::setup_text_digest_size);
}

void tell(const std::string& text) {
    (void)write_all(STDOUT_FILENO, "dockdist: " + text + "\n");
}

int refuse_setup(const std::string& text) {
    return end_with(text, exit_codes::cannot_start);
}

// A line that was done: "TEXT BEFORE AFTER AGAIN", digests of its text and of its files before and after it
// ran, which may have written one of them; and the word under which it ran again. One for each text, of its
// last time.
std::string record_entry(const wire::SetupLine& line) {
    return text_part(line.digest) + " " + files_part(line.digest) + " " + files_part(setup_digest(line)) +
           " " + line.again + "\n";
}

std::string read_record(int file) {
    std::string text(longest_record, '\0');
    const auto count = ::pread(file, text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

// Whether it was done as it is now; with `again` under that word.
bool remembers(const std::string& record, const std::string& digest, const std::string& again) {
    for (const auto& entry : split(record, '\n')) {
        const auto words = split(entry, ' ');
        if (words.size() == 4 && words[0] == text_part(digest)) {
            return again.empty() ? words[1] == files_part(digest) || words[2] == files_part(digest)
                                 : words[3] == again;
        }
    }
    return false;
}

// Where it is remembered that `owner` has run a line: in a folder that nobody else writes to, or in the
// target, whose writers all have a word.
struct RecordPlace {
    std::string folder{}, path{};
    std::optional<uid_t> owner{}; // none: whoever writes to the target
};

RecordPlace record_place(const wire::SetupLine& line, uid_t runs_it, const std::string& digest) {
    if (!line.target.empty()) {
        return {.folder = line.target, .path = line.target + std::string(record_name)};
    }
    auto folder = runs_it == 0 ? paths().setup : paths().setup_users + "/" + std::to_string(runs_it);
    return {.folder = folder, .path = folder + "/" + text_part(digest), .owner = runs_it};
}

// A second name would be one that somebody has given to another file.
Result<Fd> open_record(const RecordPlace& place, int flags) {
    Fd file(::open(place.path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
    struct stat status{};
    if (!file.open() || ::fstat(file.get(), &status) != 0) {
        return system_error("cannot open " + place.path, errno);
    }
    if (!S_ISREG(status.st_mode) || status.st_nlink > 1 || (place.owner && *place.owner != status.st_uid)) {
        return Error{.kind = ErrorKind::node,
                     .message = "cannot open " + place.path + ": it is not a file of this user's alone",
                     .hint = "remove it"};
    }
    return file;
}

// The folder that the line's user has for its own, made where it is missing.
Status have_folder(const RecordPlace& place) {
    if (::mkdir(place.folder.c_str(), 0755) != 0 && errno != EEXIST) {
        return system_error("cannot make " + place.folder, errno);
    }
    struct stat status{};
    if (place.owner && (::lstat(place.folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
                        status.st_uid != *place.owner || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
        return Error{.kind = ErrorKind::node,
                     .message = place.folder + " is not a folder of this user's alone",
                     .hint = "remove it"};
    }
    return ok;
}

// Who runs a line, where `state` asks for it, is whom the file names for it.
bool was_done(const wire::SetupLine& line, const std::string& digest) {
    uid_t runs_it = ::geteuid();
    if (line.user.starts_with(wire::setup_user)) {
        std::string error;
        runs_it = named_account(line.user.substr(wire::setup_user.size()), error).uid;
        if (!error.empty()) {
            return false;
        }
    }
    const auto record = open_record(record_place(line, runs_it, digest), O_RDONLY);
    return record && remembers(read_record(record->get()), digest, "");
}

Status remember_in(const wire::SetupLine& line, const RecordPlace& place, int record) {
    std::string text;
    for (const auto& entry : split(read_record(record), '\n')) {
        text += entry.empty() || entry.starts_with(text_part(line.digest)) ? "" : entry + "\n";
    }
    text += record_entry(line);
    if (::ftruncate(record, 0) != 0 ||
        ::pwrite(record, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        return system_error("cannot record what was done in " + place.path, errno);
    }
    return ok;
}

// Where the line has made its target anew (`venv --clear`), its record went with it: those who wait for their
// turn look into the one that is locked, and everybody later into the new one.
Status remember(const wire::SetupLine& line, const RecordPlace& place, int record) {
    struct stat locked{};
    struct stat named{};
    auto done = remember_in(line, place, record);
    if (!done || ::fstat(record, &locked) != 0 ||
        (::lstat(place.path.c_str(), &named) == 0 && named.st_ino == locked.st_ino &&
         named.st_dev == locked.st_dev)) {
        return done;
    }
    const auto anew = open_record(place, O_RDWR | O_CREAT);
    return anew ? remember_in(line, place, anew->get()) : Status(anew.error());
}

int tell_state(const std::vector<wire::SetupLine>& lines) {
    std::string text;
    for (const auto& line : lines) {
        const auto digest = setup_digest(line);
        text += to_text(wire::SetupState{.digest = digest, .done = was_done(line, digest)});
    }
    return write_all(STDOUT_FILENO, text) ? 0 : 1;
}

int run_in_shell(const std::string& line) {
    auto environment = Environment::own();
    const auto shell = find_own_program("sh", environment);
    if (shell.path.empty()) {
        return refuse_setup("this image has no shell, and `setup` needs one: " + shell.error.message);
    }
    const pid_t child = ::fork();
    if (child < 0) {
        return refuse_setup(system_error("cannot start a process", errno).message);
    }
    if (child == 0) {
        const int null = ::open("/dev/null", O_RDONLY);
        ::dup2(null, STDIN_FILENO);
        ::_exit(become_program(shell, {"sh", "-c", line}, environment).error.code);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return exit_status(status).code;
}

bool try_lock_record(int file, int how) {
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    return ::fcntl(file, how, &whole) == 0;
}

// Of the nodes that share a target one runs the line; the others wait for it here. False: it was run.
Result<bool> take_turn(const wire::SetupLine& line, const RecordPlace& place, int record) {
    if (!try_lock_record(record, F_OFD_SETLK)) {
        if (errno != EAGAIN && errno != EACCES) {
            return system_error("nodes cannot take turns at " + place.path, errno);
        }
        tell("another node is at " + line.target + ": waiting for it");
        while (!try_lock_record(record, F_OFD_SETLKW) && errno == EINTR) {
        }
    }
    return !remembers(read_record(record), line.digest, line.again);
}

int run_line(const wire::SetupLine& line) {
    const auto place = record_place(line, ::geteuid(), line.digest);
    if (const auto there = have_folder(place); !there) {
        return refuse_setup(to_text(there.error()));
    }
    auto record = open_record(place, O_RDWR | O_CREAT);
    if (!record && place.owner &&
        ::unlink(place.path.c_str()) == 0) { // of a time when the folder was everybody's
        record = open_record(place, O_RDWR | O_CREAT);
    }
    if (!record) {
        return refuse_setup(to_text(record.error()));
    }
    if (!line.target.empty()) {
        const auto own_turn = take_turn(line, place, record->get());
        if (!own_turn) {
            return refuse_setup(own_turn.error().message);
        }
        if (!*own_turn) {
            tell("another node has set up " + line.target);
            return 0;
        }
    }
    const int code = run_in_shell(line.run);
    if (code == 0) {
        if (const auto done = remember(line, place, record->get()); !done) {
            return refuse_setup(done.error().message);
        }
    }
    return code;
}

} // namespace

std::vector<std::string> words_that_may_be_paths(const std::string& line) {
    constexpr std::string_view between = " \t\r\n\"'`=;|&()<>,[]{}$\\";
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < line.size();) {
        const auto end = std::min(line.find_first_of(between, begin), line.size());
        auto word = line.substr(begin, end - begin);
        if (!word.empty() && word.front() != '-' && std::ranges::find(words, word) == words.end()) {
            words.push_back(std::move(word));
        }
        begin = end + 1;
    }
    return words;
}

std::string setup_digest(const wire::SetupLine& line) {
    Digest text;
    text.add(line.run);
    text.add(line.user);
    Digest files;
    for (const auto& word : words_that_may_be_paths(line.run)) {
        if (!files.add_file(word) && is_folder(word)) {
            for (const auto& name : project_files) {
                files.add_file(word + "/" + std::string(name));
            }
        }
    }
    return text.text() + files.text();
}

int run_setup(const std::vector<std::string>& arguments) {
    std::vector<wire::SetupLine> lines;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        auto line = wire::parse_setup_line(arguments[i]);
        if (!line) {
            return refuse_setup(line.error().message);
        }
        lines.push_back(std::move(*line));
    }
    if (!arguments.empty() && arguments.front() == "state") {
        return tell_state(lines);
    }
    if (!arguments.empty() && arguments.front() == "run" && lines.size() == 1 && !lines[0].digest.empty()) {
        return run_line(lines.front());
    }
    (void)write_all(STDERR_FILENO, "usage: dockdist-init setup state [LINE...] | setup run LINE\n");
    return exit_codes::wrong_input;
}

} // namespace dockdist::node
