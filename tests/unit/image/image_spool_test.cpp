#include "client/image/image_spool.hpp"
#include "client/image/send_image.hpp"
#include "client/image/tar_reader.hpp"
#include "client/relay/relay_program.hpp"
#include "fakes/damage.hpp"
#include "fakes/fake_engine.hpp"
#include "shared/digest/sha256.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace image_spool_test {

using namespace dockdist;

namespace {

// A tar in memory, entry by entry.
class TarText {
public:
    explicit TarText(int format = ARCHIVE_FORMAT_TAR_USTAR, std::size_t size = 1 << 20)
        : archive_(::archive_write_new()), bytes_(size, '\0') {
        ::archive_write_set_format(archive_, format);
        ::archive_write_open_memory(archive_, bytes_.data(), bytes_.size(), &used_);
    }
    ~TarText() { ::archive_write_free(archive_); }
    TarText(const TarText&) = delete;
    TarText& operator=(const TarText&) = delete;

    TarText& file(const char* name, const std::string& content) { return add(name, AE_IFREG, content, ""); }
    // Of that size, with nothing but zeros, which are not in the tar.
    TarText& holes(const char* name, std::int64_t size) {
        auto* entry = ::archive_entry_new();
        ::archive_entry_set_pathname(entry, name);
        ::archive_entry_set_filetype(entry, AE_IFREG);
        ::archive_entry_set_size(entry, size);
        ::archive_entry_sparse_add_entry(entry, size - 1, 1);
        ::archive_write_header(archive_, entry);
        const std::string zeros(static_cast<std::size_t>(size), '\0');
        ::archive_write_data(archive_, zeros.data(), zeros.size());
        ::archive_entry_free(entry);
        return *this;
    }
    TarText& link(const char* name, const char* target) { return add(name, AE_IFLNK, "", target); }
    std::string done() {
        ::archive_write_close(archive_);
        return bytes_.substr(0, used_);
    }

private:
    TarText& add(const char* name, unsigned type, const std::string& content, const char* target) {
        auto* entry = ::archive_entry_new();
        ::archive_entry_set_pathname(entry, name);
        ::archive_entry_set_filetype(entry, type);
        ::archive_entry_set_perm(entry, 0755);
        ::archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
        if (type == AE_IFLNK) {
            ::archive_entry_set_symlink(entry, target);
        }
        ::archive_write_header(archive_, entry);
        ::archive_write_data(archive_, content.data(), content.size());
        ::archive_entry_free(entry);
        return *this;
    }
    archive* archive_;
    std::string bytes_;
    std::size_t used_ = 0;
};

std::string config_of(const std::vector<std::string>& layers) {
    std::string ids;
    for (const auto& layer : layers) {
        ids += (ids.empty() ? "\"" : ",\"") + sha256_of(layer) + "\"";
    }
    return "{\"rootfs\":{\"diff_ids\":[" + ids + "]}}";
}

// One layer twice: the second time as a link.
std::string image_of_twice(const std::string& layer) {
    return TarText()
        .file("1/layer.tar", layer)
        .link("2/layer.tar", "../1/layer.tar")
        .file("ab.json", config_of({layer, layer}))
        .file("manifest.json", R"([{"Config":"ab.json","Layers":["1/layer.tar","2/layer.tar"]}])")
        .done();
}

struct Spooled {
    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor(), "node-0"};
    std::uint64_t told = 0;
    GrowingFiles growing{};
    Result<std::unique_ptr<ImageSpool>> fill(std::string tar) {
        engine.exports["train:1"] = std::move(tar);
        return run_task(io, ImageSpool::fill(
                                engine, ImageRef("train:1"), [this](std::uint64_t n) { told = n; }, growing));
    }
};

} // namespace

TEST_CASE("an image is taken apart while it comes; a layer that is there twice is kept once") {
    Spooled spooled;
    const std::string layer(5000, 'l');
    const auto tar = image_of_twice(layer);
    std::filesystem::path kept;
    {
        const auto spool = spooled.fill(tar);
        REQUIRE(spool.has_value());
        CHECK(spooled.told == tar.size());
        CHECK((*spool)->image().layers.size() == 2);
        CHECK((*spool)->blobs().size() == 2);
        const auto& blob = (*spool)->blobs().at(sha256_of(layer));
        CHECK(blob.file == 0);
        GrowingFiles::Place at;
        CHECK(spooled.growing.next(at, 4000) == std::string(4000, 'l'));
        CHECK(spooled.growing.next(at, 4000) == std::string(1000, 'l'));
        CHECK(spooled.growing.next(at, 4000) == config_of({layer, layer}));
        CHECK(at.file == 1);
        kept = blob.path;
        std::ifstream file(blob.path);
        CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == layer);
        CHECK((*spool)->manifest_digest() == sha256_of((*spool)->manifest()));
    }
    CHECK_FALSE(std::filesystem::exists(kept));
}

TEST_CASE("a tar that is cut at any place, and one that lacks what it names, is no image") {
    const auto tar = TarText()
                         .file("1/layer.tar", std::string(3000, 'l'))
                         .file("ab.json", config_of({std::string(3000, 'l')}))
                         .file("manifest.json", R"([{"Config":"ab.json","Layers":["1/layer.tar"]}])")
                         .done();
    for (std::size_t size = 0; size < 5120; size += 500) {
        CAPTURE(size);
        Spooled spooled;
        CHECK(spooled.fill(tar.substr(0, size)).has_error());
    }
    Spooled spooled;
    CHECK(spooled.fill(std::string(5000, 'x')).error().kind == ErrorKind::protocol);
    const auto lacking =
        TarText().file("manifest.json", R"([{"Config":"ab.json","Layers":["../../x"]}])").done();
    CHECK(spooled.fill(lacking).error().message == "the image's tar lacks files that its manifest names");
    const auto wrong = TarText()
                           .file("l", "other")
                           .file("ab.json", config_of({"layer"}))
                           .file("manifest.json", R"([{"Config":"ab.json","Layers":["l"]}])")
                           .done();
    CHECK(spooled.fill(wrong).error().message.ends_with("a layer does not match its configuration"));
}

TEST_CASE("a tar of a few bytes that would become a file of many is no image") {
    for (const auto size : {8 << 20, 64 << 20}) {
        const auto tar = TarText(ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE).holes("layer", size).done();
        REQUIRE(tar.size() < 10'000);
        Spooled spooled;
        const auto spool = spooled.fill(tar);
        REQUIRE(spool.has_error());
        CHECK(spool.error().kind == ErrorKind::protocol);
        CHECK(spool.error().message == "what the engine gave as an image is not one: layer in it has holes");
    }
}

TEST_CASE("a damaged tar ends in an error, or in the image that it names") {
    const std::string layer(600, 'l');
    const auto tar = image_of_twice(layer);
    Damage damage;
    int whole = 0;
    for (int i = 0; i < 300; ++i) {
        Spooled spooled;
        if (const auto spool = spooled.fill(damage.apply(tar))) {
            ++whole;
            CHECK((*spool)->blobs().contains(sha256_of(layer)));
        }
    }
    CHECK(whole > 0);
}

TEST_CASE("one program is taken out of the toolkit") {
    const auto tar = TarText().file("bin/ssh", "ssh").file("libexec/dockdist-init", "ELF").done();
    const TarFolder folder{.name = "blobs", .owner = 65534};
    const auto one = tar_of_one(tar, "libexec/dockdist-init", "dockdist-init", folder);
    REQUIRE(one.has_value());
    CHECK(one->find("dockdist-init") == 0);
    CHECK(one->find("ELF") == 512);
    CHECK(one->substr(1024).starts_with("blobs/"));
    CHECK(one->substr(1024 + 100, 23) == std::string("0000700\0"
                                                     "0177776\0"
                                                     "0177776",
                                                     23)); // mode, user, group
    CHECK(tar_of_one(tar, "missing", "x", folder).has_error());
}

TEST_CASE("layers packed with zstd or gzip are known by their bytes, and held to their names") {
    const std::string zstd = "\x28\xb5\x2f\xfd and so on", gzip = "\x1f\x8b and so on";
    const auto path = [](const std::string& bytes) { return "blobs/sha256/" + sha256_of(bytes).substr(7); };
    const auto config = config_of({"unpacked", "unpacked too"}); // what they unpack to: the engine's to check
    const auto tar = [&](const std::string& first_bytes) {
        return TarText()
            .file(path(zstd).c_str(), first_bytes)
            .file(path(gzip).c_str(), gzip)
            .file(path(config).c_str(), config)
            .file("manifest.json", R"([{"Config":")" + path(config) + R"(","Layers":[")" + path(zstd) +
                                       R"(",")" + path(gzip) + R"("]}])")
            .done();
    };
    Spooled spooled;
    const auto spool = spooled.fill(tar(zstd));
    REQUIRE(spool.has_value());
    CHECK((*spool)->image().layers[0].zstd);
    CHECK_FALSE((*spool)->image().layers[0].gzip);
    CHECK((*spool)->image().layers[1].gzip);
    const auto damaged = spooled.fill(tar(zstd + "!"));
    REQUIRE(damaged.has_error());
    CHECK(damaged.error().message.ends_with(path(zstd) + " in it does not match its name"));
}

TEST_CASE("a description that is larger than any image's is told, and not read") {
    const std::string large((4 << 20) + 1, ' ');
    const std::string names = R"([{"Config":"ab.json","Layers":[]}])";
    for (const bool is_manifest : {true, false}) {
        Spooled spooled;
        const auto spool = spooled.fill(TarText(ARCHIVE_FORMAT_TAR_USTAR, 16 << 20)
                                            .file("ab.json", is_manifest ? "{}" : large)
                                            .file("manifest.json", is_manifest ? names + large : names)
                                            .done());
        CHECK(spool.error().message == std::string("what the engine gave as train:1 is not an image: its ") +
                                           (is_manifest ? "manifest.json" : "ab.json") +
                                           " has 4.0 MiB, more than 4.0 MiB");
    }
}

TEST_CASE("a tar of more files than any image has is no image") {
    TarText tar(ARCHIVE_FORMAT_TAR_USTAR, 16 << 20);
    for (int i = 0; i <= 2000; ++i) {
        tar.file("x", "");
    }
    Spooled spooled;
    CHECK(spooled.fill(tar.done()).error().message ==
          "what the engine gave as an image is not one: it has more than 2000 files");
}

} // namespace image_spool_test
