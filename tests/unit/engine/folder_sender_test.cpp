// What an engine is told of a folder, and sent of it.
#include "client/engine/buildkit/folder_sender.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <sys/stat.h>

namespace folder_sender_test {

using namespace dockdist;

namespace {

class Files final : public BuildFiles {
public:
    explicit Files(std::vector<BuildFile> list) : list_(std::move(list)) {}
    const std::vector<BuildFile>& list() const override { return list_; }
    Result<std::string> read(std::size_t index, std::uint64_t offset, std::size_t size) override {
        if (broken) {
            return Error{ErrorKind::config, list_.at(index).name, "cannot be read", ""};
        }
        const auto content = std::string(list_.at(index).size, list_.at(index).name.back());
        return content.substr(std::min<std::size_t>(offset, content.size()), size);
    }
    bool broken = false;

private:
    std::vector<BuildFile> list_;
};

std::shared_ptr<Files> some_files() {
    return std::make_shared<Files>(std::vector<BuildFile>{
        {.name = ".dockerignore", .mode = S_IFREG | 0644, .size = 1},
        {.name = "a", .mode = S_IFDIR | 01777, .time = 5},
        {.name = "a/x", .mode = S_IFREG | 04755, .size = 70'000, .time = 1'000'000'007},
        {.name = "a/y", .mode = S_IFREG | 0600},
        {.name = "ab", .mode = S_IFREG | 0644, .size = 3},
        {.name = "link", .mode = S_IFLNK | 0777, .target = "a/x"}});
}

std::string message(std::uint32_t kind, std::uint32_t id, const std::string& data = "") {
    std::string bytes;
    protozero::pbf_writer fields(bytes);
    fields.add_enum(1, static_cast<std::int32_t>(kind));
    fields.add_uint32(3, id);
    fields.add_bytes(4, data);
    return bytes;
}

// A message as people read it.
std::string shown(const std::string& bytes) {
    std::string text;
    protozero::pbf_reader reader(bytes);
    while (reader.next()) {
        const auto tag = std::to_string(reader.tag());
        if (reader.tag() == 2) {
            auto stat = reader.get_message();
            while (stat.next()) {
                text += stat.wire_type() == protozero::pbf_wire_type::varint
                            ? " " + std::to_string(stat.tag()) + "=" + std::to_string(stat.get_uint64())
                            : " " + stat.get_string();
            }
        } else if (reader.wire_type() == protozero::pbf_wire_type::varint) {
            text += " " + tag + ":" + std::to_string(reader.get_uint64());
        } else {
            text += " " + std::to_string(reader.get_string().size()) + " bytes";
        }
    }
    return text;
}

std::vector<std::string> all_of(FolderSender& sender) {
    std::vector<std::string> all;
    for (auto next = sender.next(); next.value(); next = sender.next()) {
        all.push_back(shown(**next));
    }
    return all;
}

std::string names(const std::vector<std::string>& only) {
    FolderSender sender(some_files(), only);
    std::string text;
    for (const auto& line : all_of(sender)) {
        text += line.substr(0, line.find(' ', 1));
    }
    return text;
}

} // namespace

TEST_CASE("the list comes first, in Go's modes, and a file when it is asked for, once, with an end to it") {
    FolderSender sender(some_files(), {});
    const std::uint64_t sticky = 1U << 20U, set_user = 1U << 23U, link = 1U << 27U, folder = 1U << 31U;
    const auto mode = [](std::uint64_t bits) { return " 2=" + std::to_string(bits); };
    CHECK(all_of(sender) ==
          std::vector<std::string>{
              " .dockerignore" + mode(0644) + " 5=1 6=0", " a" + mode(folder | sticky | 0777) + " 6=5",
              " a/x" + mode(set_user | 0755) + " 5=70000 6=1000000007", " a/y" + mode(0600) + " 5=0 6=0",
              " ab" + mode(0644) + " 5=3 6=0", " link" + mode(link | 0777) + " 6=0 a/x", ""});
    CHECK(sender.take(message(1, 2)).has_value());
    CHECK(sender.take(message(1, 2)).has_value());
    CHECK(sender.take(message(1, 3)).has_value());
    CHECK(all_of(sender) == std::vector<std::string>{" 1:2 3:2 32768 bytes", " 1:2 3:2 32768 bytes",
                                                     " 1:2 3:2 4464 bytes", " 1:2 3:2", " 1:2 3:3"});
    CHECK(sender.sent() == 70'000);
    CHECK(!sender.ended());
    CHECK(sender.take(message(3, 0)).has_value());
    CHECK(sender.has_all());
    CHECK(all_of(sender) == std::vector<std::string>{" 1:3"});
    CHECK(sender.ended());
}

TEST_CASE("an engine that is content with less gets less, with the folders on the way") {
    CHECK(names({".dockerignore"}) == " .dockerignore");
    CHECK(names({"a/y", "nothing"}) == " a a/y");
    CHECK(names({"/a/"}) == " a a/x a/y");
    CHECK(names({"ab"}) == " ab");
    CHECK(names({"a/x/none", "a/none/none"}) == " a");
    CHECK(names({"a/x", "ab", "a/y"}) == " a a/x a/y ab");
    const auto everything = names({});
    CHECK(names({"a/*"}) == everything);
    CHECK(names({"link"}) == everything);
    CHECK(names({"ab", "link/below"}) == everything);
    CHECK(names({"linked"}).empty());
    CHECK(names({"."}) == everything);
}

TEST_CASE("an engine that asks for what there is not, or says that it failed, is told of") {
    FolderSender sender(some_files(), {});
    CHECK(sender.take(message(1, 6)).error().kind == ErrorKind::protocol);
    CHECK(sender.take(message(1, 1)).error().kind == ErrorKind::protocol); // a folder
    CHECK(sender.take(message(9, 0)).error().kind == ErrorKind::protocol);
    CHECK(sender.take("\x0a").error().kind == ErrorKind::protocol);
    CHECK(sender.take(message(4, 0, "no space\x1b")).error().message ==
          "the engine cannot take the build's files: no space\\x1b");
}

TEST_CASE("a file that cannot be read is an error with its name") {
    const auto files = some_files();
    FolderSender sender(files, {"ab"});
    CHECK(all_of(sender).size() == 2);
    CHECK(sender.take(message(1, 0)).has_value());
    files->broken = true;
    CHECK(sender.next().error().where == "ab");
}

} // namespace folder_sender_test
