#include "client/image/image_archive.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/image_tar.hpp"
#include "fakes/run_task.hpp"
#include "shared/digest/sha256.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace image_archive_test {

using namespace dockdist;

namespace {

// Of three layers, of which two are the same one.
std::string saved_image(const std::string& layer, const std::string& other) {
    const nlohmann::json config{
        {"rootfs", {{"diff_ids", {sha256_of(layer), sha256_of(other), sha256_of(layer)}}}}};
    return testing::tar_file("a.tar", layer) + testing::tar_file("b.tar", other) +
           testing::tar_file("c.json", config.dump()) +
           testing::tar_file("manifest.json", R"([{"Config":"c.json","Layers":["a.tar","b.tar","a.tar"]}])") +
           ustar_end();
}

struct Archived {
    explicit Archived(std::string tar) {
        engine.exports["train:1"] = std::move(tar);
        spool = run_task(io, ImageSpool::fill(
                                 engine, ImageRef("train:1"), [](std::uint64_t) {}, growing))
                    .value();
    }
    Result<std::string> all(ImageArchive& archive) {
        std::string bytes;
        while (true) {
            const auto more = run_task(io, archive.read());
            TRY(more);
            if (more->empty()) {
                return bytes;
            }
            bytes += *more;
        }
    }

    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor(), "node-0"};
    GrowingFiles growing{};
    std::unique_ptr<ImageSpool> spool{};
};

} // namespace

TEST_CASE("an archive holds the image under its new name, each layer once, and is as long as it says") {
    const std::string layer(600'000, 'l'), other(513, 'o');
    Archived archived(saved_image(layer, other));
    ImageArchive archive(*archived.spool, "127.0.0.1:4000/dockdist/image:sent");
    const auto tar = archived.all(archive);
    REQUIRE(tar.has_value());
    CHECK(tar->size() == archive.size());
    CHECK(tar->size() < 610'000);
    const auto manifest = nlohmann::json::parse(tar->substr(512, tar->find('\0', 512) - 512));
    CHECK(manifest[0]["RepoTags"] == nlohmann::json{"127.0.0.1:4000/dockdist/image:sent"});
    CHECK(manifest[0]["Layers"].size() == 3);
    // What reads an engine's image reads this one, and it is the same one.
    const auto digest = archived.spool->manifest_digest();
    Archived again(*tar);
    CHECK(again.spool->manifest_digest() == digest);
}

TEST_CASE("an archive whose files are gone ends with an error") {
    Archived archived(saved_image("layer", "other"));
    ImageArchive archive(*archived.spool, "x:1");
    for (const auto& [digest, blob] : archived.spool->blobs()) {
        std::filesystem::remove(blob.path);
    }
    const auto tar = archived.all(archive);
    REQUIRE(tar.has_error());
    CHECK(tar.error().kind == ErrorKind::internal);
}

} // namespace image_archive_test
