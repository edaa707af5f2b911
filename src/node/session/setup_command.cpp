#include "node/session/setup_command.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "digest/sha256.hpp"
#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
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

Result<Fd> open_record(const std::string& path, int flags) {
    Fd file(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
    struct stat status{};
    if (!file.open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return system_error("cannot open " + path, errno);
    }
    return file;
}

std::string record_path(const wire::SetupLine& line, const std::string& digest) {
    return line.target.empty() ? paths().setup + "/" + text_part(digest)
                               : line.target + std::string(record_name);
}

bool was_done(const wire::SetupLine& line, const std::string& digest) {
    const auto record = open_record(record_path(line, digest), O_RDONLY);
    return record && remembers(read_record(record->get()), digest, "");
}

Status remember_in(const wire::SetupLine& line, int record) {
    std::string text;
    for (const auto& entry : split(read_record(record), '\n')) {
        text += entry.empty() || entry.starts_with(text_part(line.digest)) ? "" : entry + "\n";
    }
    text += record_entry(line);
    if (::ftruncate(record, 0) != 0 ||
        ::pwrite(record, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        return system_error("cannot remember what was done in " + record_path(line, line.digest), errno);
    }
    return ok;
}

// Where the line has made its target anew (`venv --clear`), its record went with it: those who wait for their
// turn look into the one that is locked, and everybody later into the new one.
Status remember(const wire::SetupLine& line, int record) {
    const auto path = record_path(line, line.digest);
    struct stat locked{};
    struct stat named{};
    auto done = remember_in(line, record);
    if (!done || ::fstat(record, &locked) != 0 ||
        (::lstat(path.c_str(), &named) == 0 && named.st_ino == locked.st_ino &&
         named.st_dev == locked.st_dev)) {
        return done;
    }
    const auto anew = open_record(path, O_RDWR | O_CREAT);
    return anew ? remember_in(line, anew->get()) : Status(anew.error());
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
    const auto shell = find_program("sh", environment);
    if (shell.path.empty()) {
        return refuse_setup("this image has no shell, and `setup` needs one");
    }
    const pid_t child = ::fork();
    if (child < 0) {
        return refuse_setup(system_error("cannot start a process", errno).message);
    }
    if (child == 0) {
        const int null = ::open("/dev/null", O_RDONLY);
        ::dup2(null, STDIN_FILENO);
        ::_exit(exec_path(shell.path, {"sh", "-c", line}, environment));
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
Result<bool> take_turn(const wire::SetupLine& line, int record) {
    if (!try_lock_record(record, F_OFD_SETLK)) {
        if (errno != EAGAIN && errno != EACCES) {
            return system_error("nodes cannot take turns at " + record_path(line, line.digest), errno);
        }
        tell("another node is at " + line.target + ": waiting for it");
        while (!try_lock_record(record, F_OFD_SETLKW) && errno == EINTR) {
        }
    }
    return !remembers(read_record(record), line.digest, line.again);
}

int run_line(const wire::SetupLine& line) {
    if (!line.target.empty() && ::mkdir(line.target.c_str(), 0755) != 0 && errno != EEXIST) {
        return refuse_setup(system_error("cannot make " + line.target, errno).message);
    }
    const auto record = open_record(record_path(line, line.digest), O_RDWR | O_CREAT);
    if (!record) {
        return refuse_setup(record.error().message);
    }
    if (!line.target.empty()) {
        const auto own_turn = take_turn(line, record->get());
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
        if (const auto done = remember(line, record->get()); !done) {
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
