// Whoever runs jobs in a node must not get a folder of root's by pointing root at it.
#include "node/system/account_folders.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace account_folders_test {

using namespace dockdist;
using namespace dockdist::node;
namespace fs = std::filesystem;

namespace {

struct Found {
    uid_t uid = 0;
    mode_t mode = 0;
    bool operator==(const Found&) const = default;
};

Found look(const std::string& path) {
    struct stat status{};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return {status.st_uid, status.st_mode & 07777U};
}

struct Layer : Scratch {
    Layer() {
        fs::permissions(path, fs::perms(0755));
        for (const auto* name : {"etc", "work"}) {
            fs::create_directory(*this / name);
            fs::permissions(*this / name, fs::perms(0755));
        }
        REQUIRE(::chown((*this / "work").c_str(), uid, uid) == 0);
    }
    Account account(const std::string& home) const {
        return {.name = "ada", .uid = uid, .gid = uid, .home = *this / home.c_str()};
    }
    static constexpr uid_t uid = 4242;
};

} // namespace

TEST_SUITE("as root" * doctest::skip(::geteuid() != 0)) {
    TEST_CASE("a home is the account's, and the way to it root's") {
        const Layer layer;
        make_home_folder(layer.account("var/home/ada"));
        CHECK(look(layer / "var/home") == Found{0, 0755});
        CHECK(look(layer / "var/home/ada") == Found{Layer::uid, 0755});
        make_home_folder({.name = "root", .home = layer / "root"});
        CHECK(look(layer / "root") == Found{0, 0700});
    }

    TEST_CASE("a home in a folder of the account's is made by the account") {
        const Layer layer;
        make_home_folder(layer.account("work/homes/ada"));
        CHECK(look(layer / "work/homes") == Found{Layer::uid, 0755});
        CHECK(look(layer / "work/homes/ada").uid == Layer::uid);
    }

    TEST_CASE("a link that the account has put on the way to its home leads root nowhere") {
        const Layer layer;
        fs::create_directory_symlink(layer / "etc", layer / "work/homes");
        REQUIRE(::lchown((layer / "work/homes").c_str(), Layer::uid, Layer::uid) == 0);
        make_home_folder(layer.account("work/homes/ada"));
        CHECK(fs::is_empty(layer / "etc"));
        // Nor is a folder of root's at its end given away.
        fs::create_directory(layer / "etc/ada");
        make_home_folder(layer.account("work/homes/ada"));
        CHECK(look(layer / "etc/ada").uid == 0);
    }
}

} // namespace account_folders_test
