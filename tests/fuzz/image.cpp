// What an engine gives as an image, and what docker's configuration says of registries: a tar from elsewhere
// writes nothing but its own files into the folder for them, and no more than it holds.
#include "client/image/docker_config.hpp"
#include "client/image/registry_name.hpp"
#include "client/image/saved_image.hpp"
#include "client/image/tar_reader.hpp"
#include "client/relay/relay_program.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/support/scene.hpp"
#include "shared/core/encode.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace dockdist;
namespace fs = std::filesystem;

void tar(std::string_view bytes) {
    static fuzz::Scene scene;
    static const int file = ::memfd_create("tar", MFD_CLOEXEC);
    fuzz::require(::ftruncate(file, 0) == 0 &&
                      ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
                      ::lseek(file, 0, SEEK_SET) == 0,
                  "there is memory");
    const fs::path folder = scene.inside() + "/files";
    fs::remove_all(folder);
    fs::create_directory(folder);
    GrowingFiles growing;
    const auto taken = take_tar_apart(file, folder, growing);
    std::uint64_t size = 0;
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        fuzz::require(fs::is_regular_file(entry.symlink_status()), "nothing but files comes of a tar");
        fuzz::require(entry.path().filename() == std::to_string(std::stoul(entry.path().filename())),
                      "files have numbers for names");
        size += entry.file_size();
        ++count;
    }
    constexpr std::uint64_t until_refused = 17 << 20; // of a file with holes
    fuzz::require(size <= bytes.size() + (taken ? 0 : until_refused),
                  "a tar's files hold no more than the tar");
    scene.check();
    if (!taken) {
        fuzz::require(fuzz::has_no_controls(taken.error().message), "an error has no controls");
        return;
    }
    for (const auto& [name, blob] : *taken) {
        fuzz::require(blob.digest.size() == 71 && fs::file_size(blob.path) == blob.size,
                      "a file is what is said of it");
        fuzz::require(blob.file >= 0 && static_cast<std::size_t>(blob.file) < count, "a file has its number");
    }
    GrowingFiles::Place at;
    std::uint64_t read = 0;
    for (auto piece = growing.next(at, 1000); !piece.empty(); piece = growing.next(at, 1000)) {
        read += piece.size();
    }
    fuzz::require(read == size, "what grows is what is there");
}

void one_of_a_tar(std::string_view bytes) {
    (void)tar_of_one(bytes, "a", "b", {.name = "c"});
}

void manifest(std::string_view text) {
    const auto read = parse_save_manifest(text);
    if (!read) {
        fuzz::require(fuzz::has_no_controls(read.error().message), "an error has no controls");
        return;
    }
    SavedImage image{.config = {.digest = "sha256:c", .size = 2}};
    for (const auto& layer : read->layers) {
        image.layers.push_back({.digest = layer, .size = 1});
    }
    (void)check_layers(image, text);
}

void config(std::string_view text) {
    const auto said = fuzz::parts(text, 2);
    SavedImage image;
    image.layers.push_back({.digest = said[1]});
    const auto checked = check_layers(image, said[0]);
    fuzz::require(checked || fuzz::has_no_controls(checked.error().message), "an error has no controls");
}

void link(std::string_view text) {
    const auto said = fuzz::parts(text, 2);
    const auto leads = "/" + resolve_in_tar(said[0], said[1]) + "/";
    fuzz::require(leads.find("/../") == std::string::npos || said[0].find("..") != std::string::npos,
                  "no link leads out of the tar");
}

void logins(std::string_view text) {
    const auto said = fuzz::parts(text, 2);
    const auto parsed = parse_docker_config(said[0]);
    if (!parsed) {
        fuzz::require(fuzz::has_no_controls(parsed.error().message), "an error has no controls");
        return;
    }
    const auto registry = registry_of(ImageRef(said[1]));
    (void)helper_for(*parsed, registry);
    if (const auto login = login_in_file(*parsed, registry)) {
        const auto header = registry_auth_header(*login, registry);
        fuzz::require(header.find_first_of("\r\n ") == std::string::npos, "a login is one word");
    }
    fuzz::require(registry_config_header(parsed->logins).find_first_of("\r\n ") == std::string::npos,
                  "logins are one word");
}

void helper(std::string_view text) {
    const auto login = parse_helper_answer(text);
    fuzz::require(login || fuzz::has_no_controls(login.error().message), "an error has no controls");
}

void registry(std::string_view text) {
    const auto name = registry_of(ImageRef(std::string(text)));
    fuzz::require(!name.empty(), "an image has a registry");
    fuzz::require(registry_of_key(credentials_key(name)) == name ||
                      name.find_first_of(":/.") != std::string::npos,
                  "a registry's key is the registry's");
    (void)registry_of_key(text);
}

constexpr std::array<fuzz::Read, 8> kinds{tar,  one_of_a_tar, manifest, config,
                                          link, logins,       helper,   registry};

struct Item {
    std::string name{}, content{}, link{};
    bool hard = false, sparse = false;
};

std::string written(const std::vector<Item>& items, int format) {
    std::string bytes(64 << 10, '\0');
    std::size_t used = 0;
    auto* to = ::archive_write_new();
    ::archive_write_set_format(to, format);
    ::archive_write_set_bytes_per_block(to, 512);
    ::archive_write_open_memory(to, bytes.data(), bytes.size(), &used);
    for (const auto& item : items) {
        auto* entry = ::archive_entry_new();
        ::archive_entry_set_pathname(entry, item.name.c_str());
        ::archive_entry_set_perm(entry, 0644);
        ::archive_entry_set_filetype(entry, item.link.empty() || item.hard ? AE_IFREG : AE_IFLNK);
        if (item.hard) {
            ::archive_entry_set_hardlink(entry, item.link.c_str());
        } else if (!item.link.empty()) {
            ::archive_entry_set_symlink(entry, item.link.c_str());
        } else {
            ::archive_entry_set_size(entry,
                                     static_cast<la_int64_t>(item.sparse ? 1 << 20 : item.content.size()));
        }
        if (item.sparse) {
            ::archive_entry_sparse_add_entry(entry, 0, static_cast<la_int64_t>(item.content.size()));
        }
        ::archive_write_header(to, entry);
        ::archive_write_data(to, item.content.data(), item.content.size());
        if (item.sparse) { // the holes are given too, and left out
            const std::string zeros((1 << 20) - item.content.size(), '\0');
            ::archive_write_data(to, zeros.data(), zeros.size());
        }
        ::archive_entry_free(entry);
    }
    ::archive_write_close(to);
    ::archive_write_free(to);
    bytes.resize(used);
    return bytes;
}

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    const std::string manifest =
        R"([{"Config":"c.json","RepoTags":["a:b"],"Layers":["a/layer.tar","b/layer.tar"]}])";
    std::vector<std::string> all;
    for (const int format :
         {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, ARCHIVE_FORMAT_TAR_GNUTAR}) {
        const auto bytes = written({{.name = "manifest.json", .content = manifest},
                                    {.name = "a/layer.tar", .content = "\x1f\x8b layer"},
                                    {.name = "../../beside/file", .content = "x"},
                                    {.name = "b/layer.tar", .link = "../a/layer.tar"},
                                    {.name = "hard", .link = "a/layer.tar", .hard = true},
                                    {.name = std::string(150, 'n'), .content = "long"}},
                                   format);
        all.push_back(of_kind(0, bytes));
    }
    all.push_back(of_kind(
        0, written({{.name = "s", .content = "begin", .sparse = true}}, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE)));
    all.push_back(of_kind(1, written({{.name = "a", .content = "program"}}, ARCHIVE_FORMAT_TAR_USTAR)));
    all.push_back(of_kind(2, manifest));
    all.push_back(
        of_kind(3, of_parts({R"({"rootfs":{"type":"layers","diff_ids":["sha256:a"]}})", "sha256:a"})));
    all.push_back(of_kind(4, of_parts({"b/layer.tar", "../a/./layer.tar"})));
    all.push_back(of_kind(
        5, of_parts(
               {R"({"auths":{"https://index.docker.io/v1/":{"auth":"YTpi"},"ghcr.io":{"identitytoken":"t"}},)"
                R"("credHelpers":{"x.io":"ecr"},"credsStore":"desktop"})",
                "ghcr.io/a/b:c"})));
    all.push_back(of_kind(6, R"({"ServerURL":"https://x","Username":"<token>","Secret":"s"})"));
    for (const auto* name : {"alpine", "localhost/x", "10.0.0.1:5000/a@sha256:00", "https://ghcr.io/v2/"}) {
        all.push_back(of_kind(7, name));
    }
    return all;
}
