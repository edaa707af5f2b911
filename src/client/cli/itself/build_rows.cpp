#include "client/cli/itself/own_rows.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/wire/version.hpp"

#include <CLI/Version.hpp>
#include <archive.h>
#include <boost/version.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>

#include <filesystem>
#include <libssh2.h>
#include <string>
#include <vector>

namespace dockdist {
namespace {

std::string libraries() {
    return fmt::format("{}, libssh2 {}, {}, Boost {}.{}.{}, fmt {}.{}.{}, nlohmann-json {}.{}.{}, CLI11 {}",
                       ::OpenSSL_version(OPENSSL_VERSION), ::libssh2_version(0), ::archive_version_string(),
                       BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100,
                       FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
                       NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH,
                       CLI11_VERSION);
}

std::string toolkits_text() {
    std::vector<std::string> all;
    for (const auto& toolkit : toolkits().all()) {
        all.push_back(toolkit.architecture + " " + toolkit.version);
    }
    return fmt::format("{}", fmt::join(all, ", "));
}

} // namespace

std::string_view built_from() {
    // With words before it, by which scripts/packaging/verify.py finds it in a program that it cannot run.
    constexpr std::string_view words = "dockdist of commit ";
    constexpr std::string_view whole = "dockdist of commit " DOCKDIST_COMMIT;
    return whole.substr(words.size());
}

std::string_view own_architecture() {
#if defined(__x86_64__)
    return "x86_64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "another one";
#endif
}

std::vector<CheckRow> build_rows() {
    std::error_code ignored;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
    return {
        {.check = "program",
         .text = fmt::format("dockdist {}{}, for {}, made by {}", DOCKDIST_VERSION,
                             built_from().empty() ? "" : fmt::format(" ({})", built_from()),
                             own_architecture(), __VERSION__)},
        {.check = "file", .text = program.empty() ? "not known: there is no /proc" : program},
        {.check = "libraries", .text = libraries()},
        {.check = "toolkit",
         .text = fmt::format("{}, version {} of the protocol", toolkits_text(), wire::version)},
    };
}

} // namespace dockdist
