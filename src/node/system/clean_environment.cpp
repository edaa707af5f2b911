#include "node/system/clean_environment.hpp"

#include "node/system/roots_way.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace dockdist::node {
namespace {

// Google's container images and WSL 2 have nvidia-smi there.
constexpr const char* driver_folders = "/usr/local/nvidia/bin:/usr/lib/wsl/lib";

} // namespace

void remove_loader_variables(Environment& environment) {
    for (const auto* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_DEBUG", "GCONV_PATH",
                             "GLIBC_TUNABLES", "LOCPATH", "MALLOC_CHECK_", "NSS_WRAPPER_PASSWD"}) {
        environment.unset(name);
    }
    environment.set("OPENSSL_CONF", "/dev/null");
}

Environment clean_environment() {
    Environment environment;
    environment.set("PATH", std::string(layout::toolkit_bin) + ":" + default_path);
    environment.set("OPENSSL_CONF", "/dev/null");
    return environment;
}

std::string roots_folders(std::string_view list) {
    std::vector<std::string> kept;
    std::string text;
    for (const auto& folder : split(list, ':')) {
        if (std::ranges::find(kept, folder) == kept.end() && is_roots_folder(folder)) {
            kept.push_back(folder);
            text += (text.empty() ? "" : ":") + folder;
        }
    }
    return text;
}

std::string with_standard_folders(std::string_view list) {
    return std::string(list) + ":" + default_path + ":" + driver_folders;
}

std::string roots_path(std::string_view list) {
    return roots_folders(with_standard_folders(list));
}

Environment believed_environment(const Environment& container) {
    Environment environment;
    environment.set("PATH", roots_path(container.get("PATH").value_or("")));
    environment.set("HOME", "/");
    environment.set("LC_ALL", "C");
    if (const auto libraries = roots_folders(container.get("LD_LIBRARY_PATH").value_or(""));
        !libraries.empty()) {
        environment.set("LD_LIBRARY_PATH", libraries);
    }
    return environment;
}

bool leads_programs(std::string_view name) {
    using namespace std::string_view_literals;
    constexpr auto beginnings =
        std::to_array({"LD_"sv,     "PYTHON"sv,   "PERL"sv, "RUBY"sv,   "GEM_"sv,      "BUNDLE_"sv,
                       "LUA_"sv,    "TCL"sv,      "BASH"sv, "ZDOT"sv,   "GIT_"sv,      "GLIBC_"sv,
                       "MALLOC_"sv, "OPENSSL_"sv, "NSS_"sv, "_JAVA"sv,  "JDK_JAVA_"sv, "XDG_"sv,
                       "CONDA"sv,   "DPKG_"sv,    "LESS"sv, "R_LIBS"sv, "R_PROFILE"sv, "R_ENVIRON"sv});
    constexpr auto ends =
        std::to_array({"_LIBRARY_PATH"sv, "_PRELOAD"sv, "_PLUGIN_PATH"sv, "_MODULE_PATH"sv, "_ASKPASS"sv});
    constexpr auto whole = std::to_array({"ENV"sv,
                                          "SHELLOPTS"sv,
                                          "PS4"sv,
                                          "IFS"sv,
                                          "CDPATH"sv,
                                          "FPATH"sv,
                                          "PROMPT_COMMAND"sv,
                                          "EDITOR"sv,
                                          "VISUAL"sv,
                                          "PAGER"sv,
                                          "MANPAGER"sv,
                                          "BROWSER"sv,
                                          "CLASSPATH"sv,
                                          "CPATH"sv,
                                          "LIBRARY_PATH"sv,
                                          "PKG_CONFIG_PATH"sv,
                                          "GCONV_PATH"sv,
                                          "LOCPATH"sv,
                                          "NLSPATH"sv,
                                          "NIS_PATH"sv,
                                          "TZDIR"sv,
                                          "TERMINFO"sv,
                                          "TERMINFO_DIRS"sv,
                                          "TERMCAP"sv,
                                          "HOSTALIASES"sv,
                                          "RES_OPTIONS"sv,
                                          "CC"sv,
                                          "CXX"sv,
                                          "MAKEFLAGS"sv,
                                          "VIRTUAL_ENV"sv,
                                          "JAVA_TOOL_OPTIONS"sv,
                                          "NODE_OPTIONS"sv,
                                          "NODE_PATH"sv,
                                          "R_HOME"sv,
                                          "WGETRC"sv,
                                          "CURL_HOME"sv,
                                          "INPUTRC"sv,
                                          "NETRC"sv,
                                          "PIP_CONFIG_FILE"sv,
                                          "KRB5_CONFIG"sv,
                                          "APT_CONFIG"sv,
                                          "GNUPGHOME"sv,
                                          "CARGO_HOME"sv,
                                          "RUSTC_WRAPPER"sv,
                                          "GOFLAGS"sv});
    return std::ranges::any_of(beginnings, [&](auto begin) { return name.starts_with(begin); }) ||
           std::ranges::any_of(ends, [&](auto end) { return name.ends_with(end); }) ||
           std::ranges::find(whole, name) != whole.end();
}

void keep_to_root(Environment& environment, const std::string& home) {
    const auto path = environment.get("PATH").value_or("");
    std::vector<std::string> led;
    for (const auto& entry : environment.entries()) {
        if (const auto name = entry.substr(0, entry.find('=')); leads_programs(name)) {
            led.push_back(name);
        }
    }
    for (const auto& name : led) {
        environment.unset(name);
    }
    environment.set("PATH", with_toolkit_first(roots_path(path)));
    if (!is_roots_folder(environment.get("HOME").value_or(""))) {
        environment.set("HOME", home);
    }
    if (!is_roots_program(environment.get("SHELL").value_or(""))) {
        environment.unset("SHELL");
    }
}

} // namespace dockdist::node
