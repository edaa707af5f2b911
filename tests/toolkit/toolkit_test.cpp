#include "client/toolkit/toolkit.hpp"
#include "client/toolkit/toolkit_program.hpp"
#include "shared/digest/sha256.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

struct Entry {
    std::string name{};
    std::string target{}; // of a link
    char type = 0;
    unsigned long mode = 0, uid = 0, gid = 0, time = 0;
};

std::vector<Entry> entries() {
    const auto tar = dockdist::own_toolkit().tar();
    std::vector<Entry> result;
    for (std::size_t at = 0; at + 512 <= tar.size() && tar[at] != '\0';) {
        const std::string header(tar.data() + at, 512);
        const auto text = [&](std::size_t begin, std::size_t size) {
            return std::string(header.substr(begin, size).c_str());
        };
        const auto number = [&](std::size_t begin, std::size_t size) {
            return std::stoul(text(begin, size), nullptr, 8);
        };
        result.push_back({.name = text(0, 100),
                          .target = text(157, 100),
                          .type = header[156],
                          .mode = number(100, 8),
                          .uid = number(108, 8),
                          .gid = number(116, 8),
                          .time = number(136, 12)});
        at += 512 + (number(124, 12) + 511) / 512 * 512;
    }
    return result;
}

bool has(const std::vector<Entry>& all, const std::string& name) {
    return std::ranges::find(all, name, &Entry::name) != all.end();
}

} // namespace

TEST_CASE("the toolkit holds the programs and their loader") {
    const auto all = entries();
    for (const auto* name :
         {"libexec/dockdist-init", "libexec/dockdist-relay", "libexec/sshd", "libexec/ssh", "libexec/scp",
          "libexec/sftp", "libexec/sftp-server", "libexec/ssh-keygen", "lib/libc.so.6", "lib/libcrypto.so.3",
          "bin/ssh", "bin/scp", "bin/sftp", "bin/ssh-keygen"}) {
        CAPTURE(name);
        CHECK(has(all, name));
    }
}

TEST_CASE("the tar ends with its end marker: Podman fails at times over what stands behind it") {
    const auto tar = dockdist::own_toolkit().tar();
    const auto is_zero = [&](std::size_t blocks_from_end) {
        const auto block = tar.subspan(tar.size() - blocks_from_end * 512, 512);
        return std::ranges::all_of(block, [](char c) { return c == '\0'; });
    };
    REQUIRE(tar.size() > 3 * 512);
    CHECK(tar.size() % 512 == 0);
    CHECK(is_zero(1));
    CHECK(is_zero(2));
    CHECK_FALSE(is_zero(3));
}

TEST_CASE("the last entry is the link that completes an upload") {
    const auto all = entries();
    REQUIRE_FALSE(all.empty());
    CHECK(all.back().name == "bin/dockdist-init");
    CHECK(all.back().target == "../libexec/dockdist-init");
    CHECK(std::ranges::count(all, "bin/dockdist-init", &Entry::name) == 1);
}

TEST_CASE("entries bear no time, no owner, and stay inside") {
    for (const auto& entry : entries()) {
        CAPTURE(entry.name);
        CHECK(entry.time == 0);
        CHECK(entry.uid == 0);
        CHECK(entry.gid == 0);
        CHECK_FALSE(entry.name.starts_with("/"));
        CHECK(entry.name.find("..") == std::string::npos);
        CHECK((entry.type == '0' || entry.type == '2' || entry.type == '5'));
        if (entry.type != '2') {
            CHECK(entry.mode == 0755);
        }
    }
}

TEST_CASE("every architecture of this build has a tar and a version of its own") {
    REQUIRE(dockdist::toolkits().of(dockdist::built_architecture) == &dockdist::own_toolkit());
    std::set<std::string> versions;
    for (const auto& toolkit : dockdist::toolkits().all()) {
        CAPTURE(toolkit.architecture);
        CHECK(toolkit.version.size() == 12);
        CHECK(versions.insert(toolkit.version).second);
        const auto tar = toolkit.tar();
        CHECK(dockdist::sha256_of({tar.data(), tar.size()}).starts_with("sha256:" + toolkit.version));
        CHECK(toolkit.tar().data() == tar.data()); // uncompressed once
    }
}

TEST_CASE("the programs are of the architecture that the toolkit is for") {
    for (const auto& toolkit : dockdist::toolkits().all()) {
        CAPTURE(toolkit.architecture);
        const auto program = dockdist::toolkit_program(toolkit, "libexec/dockdist-init");
        REQUIRE(program.has_value());
        REQUIRE(program->starts_with("\x7f"
                                     "ELF"));
        const auto machine = static_cast<unsigned char>(program->at(18)); // e_machine, in the ELF header
        CHECK(int{machine} == (toolkit.architecture == "amd64" ? 62 : 183));
    }
}
