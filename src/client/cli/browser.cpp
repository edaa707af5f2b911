#include "client/cli/browser.hpp"

#include "shared/core/descriptors.hpp"
#include "shared/core/program_path.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace dockdist {
namespace {

// A session of its own: Ctrl-C here is not for it. With as many descriptors as the login has, which this
// process gives up for the moment.
bool start_program(const std::vector<std::string>& command) {
    if (command.empty()) {
        return false;
    }
    std::vector<char*> words;
    for (const auto& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&actions);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    pid_t pid = 0;
    const auto program = find_in_path(command.front());
    give_back_descriptors();
    const int failed = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, words.data(), environ);
    take_all_descriptors();
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    return failed == 0;
}

} // namespace

std::vector<std::string> browser_command(std::string_view program, const std::string& url) {
    std::vector<std::string> command;
    bool has_place = false;
    for (auto word : split(program, ' ')) {
        if (const auto place = word.find("%s"); place != std::string::npos) {
            word.replace(place, 2, url);
            has_place = true;
        }
        if (!word.empty()) {
            command.push_back(std::move(word));
        }
    }
    if (!command.empty() && !has_place) {
        command.push_back(url);
    }
    return command;
}

void open_browser(const Context& context, const std::string& url) {
    auto programs = split(client_environment("BROWSER").value_or(""), ':'); // several, tried in turn
    programs.insert(programs.end(), {"xdg-open", "open"});
    const bool opened = std::ranges::any_of(
        programs, [&](const auto& program) { return start_program(browser_command(program, url)); });
    if (!opened) {
        context.reporter->on(
            {.kind = Event::Kind::warning,
             .text = "no browser was found here ($BROWSER, xdg-open, open): open " + url + " yourself"});
    }
}

} // namespace dockdist
