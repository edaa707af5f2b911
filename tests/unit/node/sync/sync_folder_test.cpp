// Whoever runs jobs in a node must not get a folder of root's by pointing root at it.
#include "node/sync/sync_folder.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace sync_folder_test {

using namespace dockdist;
using namespace dockdist::node;
namespace fs = std::filesystem;

namespace {

const Account ada{.name = "ada", .uid = 4242, .gid = 4243, .home = "/home/ada"};

uid_t owner_of(const std::string& path) {
    struct stat status{};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_uid;
}

// A folder of root's that holds: `workspace`, ada's; `etc`, root's and empty; `full`, root's with a file.
struct Layer : Scratch {
    Layer() {
        fs::permissions(path, fs::perms(0755));
        for (const auto* name : {"workspace", "etc", "full"}) {
            fs::create_directory(*this / name);
            fs::permissions(*this / name, fs::perms(0755));
        }
        std::ofstream(*this / "full/passwd") << "root";
        REQUIRE(::chown((*this / "workspace").c_str(), ada.uid, ada.gid) == 0);
    }
};

} // namespace

TEST_SUITE("as root" * doctest::skip(::geteuid() != 0)) {
    TEST_CASE("a link that the account has put in a sync's place gives it nothing of root's") {
        for (const auto* victim : {"etc", "full"}) {
            const Layer layer;
            const auto place = layer / "workspace/code";
            fs::create_directory_symlink(layer / victim, place);
            REQUIRE(::lchown(place.c_str(), ada.uid, ada.gid) == 0);
            CHECK(open_sync_folder(place, ada, true).has_error());
            CHECK(open_sync_folder(place + "/", ada, true).has_error());
            CHECK(open_sync_folder(place + "/.", ada, true).has_error());
            CHECK(owner_of(layer / victim) == 0);
            // On the way, it makes nothing there either.
            CHECK(open_sync_folder(place + "/new", ada, true).has_error());
            CHECK(!fs::exists(fs::path(layer / victim) / "new"));
        }
    }

    TEST_CASE("a link of the account's in root's folder for all is not root's way") {
        const Layer layer;
        fs::create_directory(layer / "tmp");
        REQUIRE(::chmod((layer / "tmp").c_str(), 01777) == 0);
        fs::create_directory_symlink(layer / "etc", layer / "tmp/code");
        REQUIRE(::lchown((layer / "tmp/code").c_str(), ada.uid, ada.gid) == 0);
        CHECK(open_sync_folder(layer / "tmp/code", ada, true).has_error());
        CHECK(owner_of(layer / "etc") == 0);
    }

    TEST_CASE("an empty folder of root's is given where root alone has laid the way, links of root's too") {
        const Layer layer;
        CHECK(open_sync_folder(layer / "full", ada, true).has_error());
        CHECK(owner_of(layer / "full") == 0);
        fs::create_directory_symlink("etc", layer / "link");
        REQUIRE(open_sync_folder(layer / "link", ada, true).has_value());
        CHECK(owner_of(layer / "etc") == ada.uid);
    }

    TEST_CASE("missing folders become the account's, from the first on") {
        const Layer layer;
        REQUIRE(open_sync_folder(layer / "a/b/c", ada, true).has_value());
        REQUIRE(open_sync_folder(layer / "workspace/x/y", ada, true).has_value());
        for (const auto* made : {"a", "a/b", "a/b/c", "workspace/x/y"}) {
            CHECK(owner_of(layer / made) == ada.uid);
        }
        CHECK(owner_of(layer.path) == 0);
    }
}

} // namespace sync_folder_test
