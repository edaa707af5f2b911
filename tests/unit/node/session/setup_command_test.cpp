#include "node/session/setup_command.hpp"

#include <doctest/doctest.h>

namespace setup_command_test {

using dockdist::node::words_that_may_be_paths;
using Words = std::vector<std::string>;

TEST_CASE("the words of a line that may be paths are found between what a shell reads") {
    CHECK(words_that_may_be_paths("pip install -e /workspace") == Words{"pip", "install", "/workspace"});
    CHECK(words_that_may_be_paths("pip install --requirement=reqs.txt '.[dev]'") ==
          Words{"pip", "install", "reqs.txt", ".", "dev"});
    CHECK(words_that_may_be_paths("cd /a && ./install.sh; (cat <b) | sh -s \"$X\"\n./c") ==
          Words{"cd", "/a", "./install.sh", "cat", "b", "sh", "X", "./c"});
    CHECK(words_that_may_be_paths("   ").empty());
}

} // namespace setup_command_test
