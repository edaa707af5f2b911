// Which keys a host may show.
#include "client/engine/transport/ssh/known_hosts.hpp"
#include "client/engine/transport/ssh/packet.hpp"
#include "shared/core/encode.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace known_hosts_test {

using namespace dockdist;
using Verdict = KnownHosts::Verdict;

namespace {

// Public keys made for this test; `a` and `b` in base64 as known_hosts has them.
constexpr const char* a64 = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
constexpr const char* b64 = "AAAAC3NzaC1lZDI1NTE5AAAAIP/+/fz7+vn49/b19PPy8fDv7u3s6+rp6Ofm5eTj4uHg";
const std::string a = from_base64(a64).value();
const std::string b = from_base64(b64).value();

std::string rsa() {
    std::string blob;
    put_string(blob, "ssh-rsa");
    put_string(blob, std::string_view("\1\0\1", 3));
    return blob;
}
constexpr const char* rsa64 = "AAAAB3NzaC1yc2EAAAADAQAB";

KnownHosts from(const std::string& text) {
    KnownHosts known;
    known.add(text, "file");
    return known;
}

std::string line(const std::string& names, const char* key = a64) {
    return names + " ssh-ed25519 " + key + "\n";
}

// "h", or "[h]:2222".
KnownName named(std::string_view name) {
    return name.starts_with('[')
               ? KnownName{std::string(name), std::string(name.substr(1, name.find(']') - 1))}
               : KnownName{std::string(name), ""};
}

Verdict verdict(const std::string& text, std::string_view name, const std::string& key = a) {
    return from(text).judge(named(name), key).verdict;
}

} // namespace

TEST_CASE("a host is known by any of its names, in any case, and by patterns") {
    CHECK(verdict(line("node-1,10.0.0.1"), "node-1") == Verdict::known);
    CHECK(verdict(line("node-1,10.0.0.1"), "10.0.0.1") == Verdict::known);
    CHECK(verdict(line("Node-1"), "nODE-1") == Verdict::known);
    CHECK(verdict(line("*.lab,!bad.lab"), "good.lab") == Verdict::known);
    CHECK(verdict(line("*.lab,!bad.lab"), "bad.lab") == Verdict::unknown);
    CHECK(verdict(line("10.0.0.?"), "10.0.0.12") == Verdict::unknown);
    CHECK(verdict(line("*a*b*c*"), std::string(5000, 'a')) == Verdict::unknown); // quickly
    CHECK(verdict("", "node-1") == Verdict::unknown);
}

TEST_CASE("another key of the same type has changed, and its line is named") {
    const auto judgement = from("# mine\n\n" + line("node-1", b64)).judge(named("node-1"), a);
    CHECK(judgement.verdict == Verdict::changed);
    CHECK(judgement.place.path == "file");
    CHECK(judgement.place.line == 3);
    CHECK(verdict(line("node-1", b64) + line("node-1"), "node-1") == Verdict::known);
}

TEST_CASE("a key of a type that is not known for the host is not a changed one") {
    CHECK(verdict("node-1 ssh-rsa " + std::string(rsa64) + "\n", "node-1") == Verdict::other_type);
    CHECK(verdict(line("node-1", b64) + "node-1 ssh-rsa " + rsa64 + "\n", "node-1") == Verdict::changed);
}

TEST_CASE("ports are told apart, and a bare name helps only where its key is the same") {
    CHECK(known_name("h", 22, "").name == "h");
    CHECK(known_name("h", 22, "").bare.empty());
    CHECK(known_name("h", 2222, "").name == "[h]:2222");
    CHECK(known_name("h", 2222, "").bare == "h");
    CHECK(known_name("h", 2222, "alias").name == "alias");
    CHECK(known_name("h", 2222, "[alias]:1").bare.empty());
    CHECK(verdict(line("[h]:2222"), "[h]:2222") == Verdict::known);
    CHECK(verdict(line("[h]:2222"), "h") == Verdict::unknown);
    CHECK(verdict(line("h"), "[h]:2222") == Verdict::known);
    CHECK(verdict(line("h", b64), "[h]:2222") == Verdict::unknown); // another server of that machine
    CHECK(verdict(line("[h]:2222", b64) + line("h"), "[h]:2222") == Verdict::changed);
}

TEST_CASE("hashed names") {
    // HMAC-SHA1 of "node-1" by this salt.
    const std::string salt = "AAECAwQFBgcICQoLDA0ODxAREhM=";
    CHECK(verdict(line("|1|" + salt + "|/USPuUgq6b6LrN2cjngc1r/klJY="), "node-1") == Verdict::known);
    CHECK(verdict(line("|1|" + salt + "|/USPuUgq6b6LrN2cjngc1r/klJY="), "node-2") == Verdict::unknown);
    CHECK(verdict(line("|1|" + salt + "|!"), "node-1") == Verdict::unknown);
    CHECK(verdict(line("|2|x|y"), "node-1") == Verdict::unknown);
    CHECK(verdict(line("|1||"), "node-1") == Verdict::unknown);
}

TEST_CASE("what is said by markers is ssh's to judge") {
    for (const auto* revoked :
         {"@revoked *", "@revoked other", "@revoked\th", "@something h", "@", "@revoked @revoked h"}) {
        CAPTURE(revoked);
        const auto judgement = from(line("h") + line(revoked, b64)).judge(named("h"), a);
        CHECK(judgement.verdict == Verdict::marked);
        CHECK(judgement.place.line == 2);
    }
    CHECK(verdict(line("h") + "#" + line("@revoked h"), "h") == Verdict::known);
    CHECK(verdict(line("@cert-authority *"), "h") == Verdict::marked);
    CHECK(verdict(line("@cert-authority *") + line("h", b64), "h") == Verdict::marked);
    CHECK(verdict(line("@cert-authority *") + line("h"), "h") == Verdict::known);
}

TEST_CASE("the types that are known come in the file's order") {
    const auto known = from("h ssh-rsa " + std::string(rsa64) + "\n" + line("h") + line("h", b64));
    CHECK(known.key_types(named("h")) == std::vector<std::string>{"ssh-rsa", "ssh-ed25519"});
    CHECK(known.judge(named("h"), rsa()).verdict != Verdict::unknown);
}

TEST_CASE("lines that are no entries are passed over") {
    const std::string text = "h\nh ssh-ed25519\nh ssh-ed25519 !!!\nh ssh-rsa " + std::string(a64) +
                             "\n\t\nh ssh-ed25519 AAAA\n\xFF\xFE \x01 \x02\n";
    CHECK(verdict(text, "h") == Verdict::unknown);
    CHECK(verdict(text + line("h") + "no newline", "h") == Verdict::known);
    CHECK(from("h ssh-ed25519 " + std::string(a64) + " a comment\r\n").judge(named("h"), a).verdict ==
          Verdict::known);
}

TEST_CASE("any bytes may stand in the file") {
    std::mt19937 random(11);
    const std::string_view pieces[] = {
        "h", " ", ",", "|1|",   "|",  "@revoked ", "ssh-ed25519 ",           a64, "AAAA", "=",
        "*", "?", "!", "[h]:2", "\n", "\xFF",      std::string_view("\0", 1)};
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        for (auto length = random() % 20; length > 0; --length) {
            text += pieces[random() % std::size(pieces)];
        }
        CAPTURE(text);
        const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
        for (const auto* name : {"h", "[h]:2", "["}) {
            const auto judgement = from(text).judge(named(name), a);
            CHECK(judgement.place.line <= lines);
            CHECK((judgement.place.line == 0) == (judgement.verdict == Verdict::unknown));
            CHECK((judgement.verdict != Verdict::known || text.find(a64) != std::string::npos));
        }
        CHECK(from(text).judge(named("h"), text).verdict != Verdict::known); // that is no key
        // What stands before it takes no good line away; it may leave all to ssh.
        const auto after = verdict(text + "\n" + line("good.example"), "good.example");
        CHECK((after == Verdict::known || after == Verdict::marked));
    }
}

} // namespace known_hosts_test
