#include "node/relay/relay_command.hpp"

#include "node/relay/relay.hpp"
#include "node/relay/tar_giver.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "shared/core/descriptors.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_order = 16 << 20;

int carry() {
    std::signal(SIGPIPE, SIG_IGN);
    take_all_descriptors();
    RelayInput input(read_from(STDIN_FILENO), longest_order);
    const auto line = input.line();
    auto opening =
        line ? wire::parse_relay_opening(*line) : Result<wire::RelayOpening>(Error{.message = "no opening"});
    if (!opening) {
        return relay_failed(opening.error().message);
    }
    Folder folder;
    if (opening->tree) {
        auto there = Folder::open(paths().data);
        if (!there) {
            return relay_failed(there.error().message);
        }
        folder = std::move(*there);
    } else if (const auto made = make_folder(paths().blobs, 0700, {::geteuid(), ::getegid()}); !made) {
        return relay_failed(made.error().message);
    }
    // Nothing of it outlives the process.
    auto* relay = // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
        new Relay(std::move(*opening), input, std::move(folder));
    std::_Exit(relay->run());
}

int hold() {
    constexpr unsigned interval_s = 20;
    constexpr int most_alone = 3;
    for (const int signal : {SIGTERM, SIGINT}) {
        std::signal(signal, [](int) { ::_exit(0); }); // the first process has no default actions
    }
    for (int rounds_alone = 0; rounds_alone < most_alone;) {
        ::sleep(interval_s);
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        rounds_alone = alone_in_container() ? rounds_alone + 1 : 0;
    }
    return 0;
}

int tell_owner() {
    struct stat status{};
    if (::stat(paths().data.c_str(), &status) != 0) {
        return relay_failed(system_error("cannot look at the folder", errno).message);
    }
    return write_all(STDOUT_FILENO,
                     std::to_string(status.st_uid) + ":" + std::to_string(status.st_gid) + "\n")
               ? 0
               : 1;
}

} // namespace

int run_relay(const std::vector<std::string>& arguments) {
    if (arguments.empty()) {
        return carry();
    }
    const auto& what = arguments.front();
    return what == "hold"        ? hold()
           : what == "give"      ? give_tar(false)
           : what == "give-self" ? give_tar(true)
           : what == "unpack"    ? unpack_toolkit()
                                 : tell_owner();
}

} // namespace dockdist::node
