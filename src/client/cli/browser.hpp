// This machine's web browser.
#pragma once

#include "client/cli/context.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// One of $BROWSER: "firefox --new-window", "lynx %s"; the URL takes the place of %s, or stands at the end.
// Empty: no program is named. Pure.
std::vector<std::string> browser_command(std::string_view program, const std::string& url);

// Starts what shows web pages here: $BROWSER, else the system's own way. A warning where none starts.
void open_browser(const Context& context, const std::string& url);

} // namespace dockdist
