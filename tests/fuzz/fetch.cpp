// A node that sends a tree to the client: nothing appears outside the place that was named, no link is
// written through.
#include "client/sync/fetch.hpp"

#include "client/container/container_engine.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "fakes/run_task.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/support/scene.hpp"

#include <array>
#include <filesystem>

namespace {

using namespace dockdist;
using wire::SyncMessage;
using wire::TreeEntry;
using Kind = SyncMessage::Kind;
namespace fs = std::filesystem;

// What a node may call things: short, so that names meet.
std::string name_from(fuzz::Choices& choices) {
    static constexpr std::array<std::string_view, 14> words{
        "d",   "f",     "l",   "out",      "of",         "d/d",
        "d/f", "d/out", "l/f", "out/file", "out/folder", ".git/hooks/pre-commit",
        "..",  "/etc/x"};
    return choices.path(words);
}

std::string target_from(fuzz::Choices& choices) {
    static constexpr std::array<std::string_view, 9> targets{
        "f", ".", "..", "../beside", "/etc", "d/../..", "../inside/f", "out", "d/f"};
    return std::string(targets.at(choices.below(targets.size())));
}

// A stream of messages out of the bytes of an input: nearly always of the protocol's form, so that what is
// said decides.
std::string said_by(fuzz::Choices choices) {
    std::string stream;
    while (!choices.empty()) {
        static constexpr std::array<Kind, 10> kinds{Kind::entry,    Kind::folder, Kind::file, Kind::data,
                                                    Kind::end_file, Kind::link,   Kind::mode, Kind::warning,
                                                    Kind::problem,  Kind::done};
        SyncMessage message{.kind = kinds.at(choices.below(kinds.size()))};
        switch (message.kind) {
        case Kind::entry:
            message.type = choices.below(2) == 0 ? TreeEntry::Type::folder : TreeEntry::Type::file;
            break;
        case Kind::data:
            message.text = choices.text();
            break;
        case Kind::end_file:
            message.size = choices.below(2);
            break;
        case Kind::done:
            break;
        case Kind::link:
            message.name = name_from(choices);
            message.text = target_from(choices);
            break;
        default:
            message.name = name_from(choices);
            message.type = message.kind == Kind::file ? TreeEntry::Type::file : TreeEntry::Type::none;
            message.mode = static_cast<std::uint32_t>(choices.below(256) * 16 + 7);
            message.size = choices.below(8);
            message.text = message.kind == Kind::problem ? "no\nhint" : "";
        }
        wire::append(stream, message);
    }
    return stream;
}

void fetch_from(std::string stream, const FetchPlace& into) {
    boost::asio::io_context io;
    FakeEngine engine(io.get_executor());
    NoReport reporter;
    engine.add_image("i");
    engine.on_exec("sync", std::move(stream));
    const auto fetched = run_task(io, [&]() -> Task<Result<Fetched>> {
        const auto id = co_await engine.create_container("c", {.image = ImageRef("i")});
        (void)co_await engine.start_container(*id);
        auto node = co_await NodeStream::open(engine, *id, NodeName("node-0"), {});
        co_return co_await fetch(**node, "/out", into, reporter);
    }());
    if (!fetched) {
        fuzz::require(fuzz::has_no_controls(fetched.error().message), "an error has no controls");
        return;
    }
    fuzz::require(fetched->errors.size() <= 1001 && fetched->left_out.size() <= 1001,
                  "what is told is bounded");
    for (const auto& name : fetched->left_out) {
        fuzz::require(fuzz::has_no_controls(name), "a name has no controls");
    }
    for (const auto& error : fetched->errors) {
        fuzz::require(fuzz::has_no_controls(error.message), "an error has no controls");
    }
}

// A link that stands there now was there before, or stays in the copy; a set-uid bit never comes.
void check_inside(const fuzz::Scene& scene, const std::string& copy) {
    for (const auto& entry : fs::recursive_directory_iterator(scene.inside())) {
        const auto status = entry.symlink_status();
        fuzz::require(fs::is_symlink(status) ||
                          (status.permissions() & (fs::perms::set_uid | fs::perms::set_gid)) ==
                              fs::perms::none,
                      "no copy runs as somebody else");
        fuzz::require(entry.path().filename().string().find(".dockdist-sync-") == std::string::npos,
                      "no half file is left");
        if (!fs::is_symlink(status) || scene.was_there(entry.path().string())) {
            continue;
        }
        const auto leads =
            (entry.path().parent_path() / fs::read_symlink(entry.path())).lexically_normal().string() + "/";
        fuzz::require(leads.starts_with(copy + "/"), "no link of a node leads out of the copy");
    }
}

} // namespace

void fuzz::one_input(std::string_view input) {
    static Scene scene;
    scene.reset();
    Choices choices(input);
    const bool as_it_is = choices.below(4) == 3;
    static constexpr std::array<std::string_view, 5> places{"", "d", "new", "out/new", "new/d"};
    const FetchPlace into{.root = scene.inside(),
                          .name = std::string(places.at(choices.below(places.size())))};
    const auto rest = choices.rest();
    fetch_from(as_it_is ? std::string(rest) : said_by(Choices(rest)), into);
    scene.check();
    check_inside(scene, scene.inside() + (into.name.empty() ? "" : "/" + into.name));
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    std::string stream;
    wire::append(stream, {.kind = Kind::entry, .type = TreeEntry::Type::folder, .mode = 0755});
    wire::append(stream, {.kind = Kind::folder, .mode = 0750, .name = "d"});
    wire::append(
        stream, {.kind = Kind::file, .type = TreeEntry::Type::file, .mode = 04644, .size = 1, .name = "d/f"});
    wire::append(stream, {.kind = Kind::data, .text = "x"});
    wire::append(stream, {.kind = Kind::end_file, .size = 1});
    wire::append(stream, {.kind = Kind::link, .name = "d/l", .text = "f"});
    wire::append(stream, {.kind = Kind::mode, .mode = 0500, .name = "d"});
    wire::append(stream, {.kind = Kind::warning, .name = "p", .text = "is a pipe"});
    wire::append(stream, {.kind = Kind::done});
    for (char place = 0; place < 5; ++place) {
        all.push_back(std::string{3, place} + stream);
        // As said_by reads it: a folder; `d`; a file `d/f` with its content; a link `l`; the end.
        all.push_back(std::string{0, place} +
                      std::string("\0\0\1\0\0\27\0\2\0\5\17\1\3\1x\4\1\5\0\2\0\6\0\0\17\0\11", 27));
        all.push_back(std::string{0, place} + std::string("\0\1\2\0\0\17\1\3\1x\4\1\11", 13));
        // A link `out`, and a file behind it.
        all.push_back(std::string{0, place} + std::string("\0\0\5\0\3\3\2\0\11\17\1\3\1x\4\1\11", 17));
    }
    return all;
}
