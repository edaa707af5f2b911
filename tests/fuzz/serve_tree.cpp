// A client's messages to the node's half of `sync` and `cp`, in a folder where the container's user may have
// laid anything: nothing outside it changes.
#include "fuzz/fuzz.hpp"
#include "fuzz/support/scene.hpp"
#include "node/sync/sync_command.hpp"
#include "shared/wire/tree.hpp"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace dockdist;
using wire::SyncMessage;
using wire::TreeEntry;
using Kind = SyncMessage::Kind;
namespace fs = std::filesystem;

std::string name_from(fuzz::Choices& choices) {
    static constexpr std::array<std::string_view, 12> words{
        "d", "f", "l", "out", "of", "d/d", "d/f", "d/out", "l/f", "out/file", "out/folder/deep", "new"};
    return choices.path(words);
}

std::string messages(fuzz::Choices choices, const std::string& inside) {
    std::string stream;
    wire::append(stream, {.kind = Kind::open, .size = 1, .text = inside});
    while (!choices.empty()) {
        static constexpr std::array<Kind, 18> kinds{
            Kind::list, Kind::digest, Kind::remove, Kind::mode,     Kind::time,    Kind::token,
            Kind::look, Kind::forget, Kind::stat,   Kind::fetch,    Kind::barrier, Kind::folder,
            Kind::link, Kind::file,   Kind::data,   Kind::end_file, Kind::entry,   Kind::open};
        SyncMessage message{.kind = kinds.at(choices.below(kinds.size()))};
        switch (message.kind) {
        case Kind::open: // links on the way to it are the account's, and followed with its rights: here none
                         // is
            message.text = inside + "/opened." + std::to_string(choices.below(4)) +
                           (choices.below(2) == 0 ? "" : "/in/it");
            message.size = 1;
            break;
        case Kind::stat:
            message.text = inside + "/" + name_from(choices);
            break;
        case Kind::fetch: // of links on the way the client says itself that they are followed
            message.text = inside;
            break;
        case Kind::token:
        case Kind::look:
        case Kind::forget:
            message.text = choices.below(2) == 0 ? ".dockdist-sync-x" : name_from(choices);
            break;
        case Kind::data:
            message.text = choices.text();
            break;
        case Kind::end_file:
            message.size = choices.below(2);
            break;
        case Kind::link: {
            static constexpr std::array<std::string_view, 6> targets{"f",    "..",      "../beside",
                                                                     "/etc", "d/../..", "d"};
            message.name = name_from(choices);
            message.text = targets.at(choices.below(targets.size()));
            break;
        }
        default:
            message.name = name_from(choices);
            message.type = message.kind == Kind::file ? TreeEntry::Type::file : TreeEntry::Type::none;
            message.mode = static_cast<std::uint32_t>(choices.below(256) * 16 + 7);
            message.size = choices.below(8);
            message.time_ns = static_cast<std::int64_t>(choices.below(256)) << 50U;
        }
        wire::append(stream, message);
    }
    return stream;
}

// What comes as it is, without the messages that name any place of the machine: those are the client's to
// choose.
std::string harmless(std::string_view bytes, const std::string& inside) {
    std::string stream;
    wire::append(stream, {.kind = Kind::open, .text = inside});
    wire::SyncDecoder decoder;
    decoder.feed(bytes);
    while (true) {
        const auto message = decoder.next();
        if (!message || !*message) {
            return stream;
        }
        if ((*message)->kind != Kind::open && (*message)->kind != Kind::stat &&
            (*message)->kind != Kind::fetch) {
            wire::append(stream, **message);
        }
    }
}

// The program reads its stdin and writes its stdout.
void serve(const std::string& stream) {
    static const int in = ::memfd_create("in", MFD_CLOEXEC);
    static const int out = ::memfd_create("out", MFD_CLOEXEC);
    static const int own_out = ::dup(STDOUT_FILENO);
    fuzz::require(::ftruncate(in, 0) == 0 && ::ftruncate(out, 0) == 0 && ::lseek(out, 0, SEEK_SET) == 0 &&
                      ::pwrite(in, stream.data(), stream.size(), 0) == static_cast<ssize_t>(stream.size()) &&
                      ::lseek(in, 0, SEEK_SET) == 0,
                  "there is memory");
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    (void)node::run_sync(wire::sync_opening({.workdir = "/"}));
    ::dup2(own_out, STDOUT_FILENO);
    std::string said(static_cast<std::size_t>(::lseek(out, 0, SEEK_END)), '\0');
    fuzz::require(::pread(out, said.data(), said.size(), 0) == static_cast<ssize_t>(said.size()),
                  "there is memory");
    wire::SyncDecoder decoder;
    decoder.feed(said);
    while (true) {
        const auto message = decoder.next();
        fuzz::require(message.has_value(), "a node's answers keep to the protocol");
        if (!*message) {
            return;
        }
        // What follows a link out of the tree would be somebody else's content.
        fuzz::require((*message)->kind != Kind::data ||
                          (*message)->text.find("untouched") == std::string::npos,
                      "no content from outside is sent");
    }
}

} // namespace

void fuzz::one_input(std::string_view input) {
    static Scene scene;
    ::setenv("DOCKDIST_TEST_ROOT", scene.beside().c_str(), 1);
    scene.reset();
    Choices choices(input);
    const bool as_it_is = choices.below(4) == 3;
    serve(as_it_is ? harmless(choices.rest(), scene.inside()) : messages(choices, scene.inside()));
    scene.check();
    for (const auto& entry : fs::recursive_directory_iterator(scene.inside())) {
        require(entry.path().filename().string().find(".dockdist-sync-") == std::string::npos ||
                    entry.path().filename() == ".dockdist-sync-x",
                "no half file is left");
    }
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    std::string stream;
    wire::append(stream, {.kind = Kind::folder, .mode = 0750, .name = "new"});
    wire::append(stream, {.kind = Kind::file,
                          .type = TreeEntry::Type::file,
                          .mode = 0644,
                          .size = 1,
                          .time_ns = 5,
                          .name = "new/f"});
    wire::append(stream, {.kind = Kind::data, .text = "x"});
    wire::append(stream, {.kind = Kind::end_file, .size = 1});
    wire::append(stream, {.kind = Kind::link, .name = "new/l", .text = "f"});
    wire::append(stream, {.kind = Kind::list, .name = "new"});
    wire::append(stream, {.kind = Kind::digest, .name = "new/f"});
    wire::append(stream, {.kind = Kind::remove, .name = "new/l"});
    wire::append(stream, {.kind = Kind::barrier});
    all.push_back("\3" + stream);
    for (char kind = 0; kind < 18; ++kind) { // each kind of message, on a link that leads out and on a file
        for (char word = 0; word < 12; ++word) {
            all.push_back(std::string{0, kind, 0, word, 17, 1, 0, 14, 1, 'x', 15, 1, 10});
        }
    }
    return all;
}
