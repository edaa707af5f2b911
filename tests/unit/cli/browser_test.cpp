#include "client/cli/browser.hpp"

#include <doctest/doctest.h>

namespace browser_test {

using namespace dockdist;
using Words = std::vector<std::string>;

TEST_CASE("a browser may have words, and a place for the address") {
    CHECK(browser_command("firefox", "http://a") == Words{"firefox", "http://a"});
    CHECK(browser_command(" firefox  --new-window ", "http://a") ==
          Words{"firefox", "--new-window", "http://a"});
    CHECK(browser_command("lynx %s -x", "http://a") == Words{"lynx", "http://a", "-x"});
    CHECK(browser_command("chromium --app=%s", "http://a") == Words{"chromium", "--app=http://a"});
    CHECK(browser_command(" ", "http://a").empty());
    CHECK(browser_command("", "http://a").empty());
}

} // namespace browser_test
