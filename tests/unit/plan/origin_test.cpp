#include "client/plan/labels.hpp"
#include "client/plan/origin.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace origin_test {

using namespace dockdist;
namespace fs = std::filesystem;

TEST_CASE("what only uses a cluster asks where this user has another file of it on this machine") {
    const auto folder = fs::temp_directory_path() / ("origin-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const auto mine = (folder / "mine.yaml").string();
    const auto other = (folder / "other.yaml").string();
    std::ofstream(mine) << "a";
    std::ofstream(other) << "b";
    const auto judged = [&](const std::string& there) {
        return of_another_file_here(ClusterName("vision"), {{labels::origin, there}}, "ada@desk:" + mine);
    };
    REQUIRE(judged("ada@desk:" + other).has_value());
    CHECK(judged("ada@desk:" + other)->message ==
          "a cluster named vision is there already, made by ada@desk:" + other + ", and not from this file");
    CHECK(judged("ada@desk:" + other)->hint.find("--take-over") != std::string::npos);
    CHECK_FALSE(judged("ada@desk:" + mine));
    CHECK_FALSE(judged("ada@laptop:" + other)); // the same file, as far as can be told
    CHECK_FALSE(judged("eve@desk:" + other));
    CHECK_FALSE(judged("ada@desk:" + other + ".moved"));
    CHECK_FALSE(judged(""));
    fs::remove(other);
    fs::create_hard_link(mine, other);
    CHECK_FALSE(judged("ada@desk:" + other));
    fs::remove_all(folder);
}

} // namespace origin_test
