// Our readers of OpenSSH's files beside OpenSSH's own, on odd input: what `ssh` refuses is refused here, and
// where more is refused here, the case says so. The other side is a real sshd, as the ProxyCommand of ssh.
#include "core/encode.hpp"
#include "core/text.hpp"
#include "engine/transport/ssh/known_hosts.hpp"
#include "engine/transport/ssh/revoked_keys.hpp"
#include "fakes/ssh_front.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sys/stat.h>
#include <unistd.h>

namespace openssh_files_test {

using namespace dockdist;

namespace {

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class Openssh {
public:
    Openssh() {
        if (::getuid() == 0) {
            ::mkdir("/run/sshd", 0755); // sshd of root insists
        }
        for (const auto* name : {"host", "other", "third"}) {
            run_program({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file(name)});
        }
        run_program({"ssh-keygen", "-q", "-s", file("other"), "-I", "x", "-h", "-n", "h", file("host.pub")});
        std::ofstream(file("sshd_config"))
            << "HostKey " << file("host")
            << "\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nLogLevel QUIET\n";
    }

    std::string file(const std::string& name) const { return folder_.file(name); }
    // "AAAA…", of the host's key, and of another one.
    std::string key() const { return base64_of("host.pub"); }
    std::string other() const { return base64_of("other.pub"); }
    std::string certificate() const { return base64_of("host-cert.pub"); }
    std::string blob() const { return *from_base64(key()); }

    // Whether ssh goes on to the login.
    bool trusts(const std::string& known, const std::string& name, int port, const std::string& alias,
                const std::string& revoked) const {
        std::ofstream(file("known_hosts"), std::ios::binary) << known;
        std::vector<std::string> command{"ssh", "-F", "/dev/null", "-p", std::to_string(port)};
        const auto option = [&](const std::string& text) { command.insert(command.end(), {"-o", text}); };
        option("ProxyCommand=/usr/sbin/sshd -i -f " + file("sshd_config"));
        option("UserKnownHostsFile=" + file("known_hosts"));
        option("GlobalKnownHostsFile=none");
        option("StrictHostKeyChecking=yes");
        option("HostKeyAlgorithms=ssh-ed25519");
        option("PreferredAuthentications=none");
        option("IdentityFile=none");
        option("BatchMode=yes");
        if (!alias.empty()) {
            option("HostKeyAlias=" + alias);
        }
        if (!revoked.empty()) {
            std::ofstream(file("revoked"), std::ios::binary) << revoked;
            option("RevokedHostKeys=" + file("revoked"));
        }
        command.insert(command.end(), {"--", name, "true"});
        const auto said = run_program({"sh", "-c", shell_join(command) + " 2>&1 </dev/null || true"});
        const bool trusted = said.find("Permission denied") != std::string::npos;
        CHECK_MESSAGE(trusted != (said.find("Host key verification failed") != std::string::npos), said);
        return trusted;
    }

private:
    std::string base64_of(const std::string& name) const {
        const auto words = split(content(file(name)), ' ');
        return words.at(1).substr(0, words.at(1).find('\n'));
    }

    TemporaryFolder folder_{};
};

const Openssh& openssh() {
    static const Openssh once;
    return once;
}

// KEY, OTHER, CERT and NUL stand for what they say.
std::string filled(std::string text) {
    const auto put = [&](const char* word, const std::string& value) {
        text = std::regex_replace(text, std::regex(word), value);
    };
    put("NUL", std::string(1, '\0'));
    put("KEY", openssh().key());
    put("OTHER", openssh().other());
    put("CERT", openssh().certificate());
    return text;
}

enum class Ours : std::uint8_t { same, stricter };

struct KnownCase {
    std::string text;
    std::string name = "h";
    int port = 22;
    std::string alias{};
    Ours ours = Ours::same;
};

} // namespace

TEST_CASE("no known_hosts makes a host known here that ssh refuses") {
    const std::string good = "h ssh-ed25519 KEY\n";
    const std::string hashed = "|1|AAECAwQFBgcICQoLDA0ODxAREhM=|";
    const std::vector<KnownCase> cases{
        {good},
        {"h ssh-ed25519 KEY"},
        {"h ssh-ed25519 KEY\r\n"},
        {"h\tssh-ed25519\tKEY\tcomment\r\n"},
        {" \t h  \t ssh-ed25519 \t KEY # comment\n"},
        {"h\rssh-ed25519 KEY\n"},
        {"h ssh-ed25519\rKEY\n"},
        {"\r" + good},
        {"\xEF\xBB\xBF" + good},
        {"# h\n\n\t#\n" + good},
        {"#h ssh-ed25519 KEY\n", "#h"},
        {"\"h\" ssh-ed25519 KEY\n"},
        {"h \"ssh-ed25519\" KEY\n"},
        {"h ssh-ed25519 \"KEY\"\n"},
        {"h ssh-rsa KEY\n"},
        {"h SSH-ED25519 KEY\n"},
        {"h KEY\n"},
        {"h 2048 ssh-ed25519 KEY\n"},
        {"h ssh-ed25519 KEY=\n"},
        {"h ssh-ed25519 =KEY\n"},
        {"h ssh-ed25519 KEYAAAA\n"},
        {"h ssh-ed25519 KEYNULrest\n"},
        {"h ssh-ed25519 KEY\vx\n"},
        {"h ssh-ed25519 \vKEY\n"},
        {"h NULssh-ed25519 KEY\n"},
        {"H,x ssh-ed25519 KEY\n"},
        {"h, ssh-ed25519 KEY\n"},
        {",h ssh-ed25519 KEY\n"},
        {"x h ssh-ed25519 KEY\n"},
        {"* ssh-ed25519 KEY\n"},
        {"?,!x ssh-ed25519 KEY\n"},
        {"*,!h ssh-ed25519 KEY\n"},
        {"!h,* ssh-ed25519 KEY\n"},
        {"!!h,* ssh-ed25519 KEY\n"},
        {"*,!H ssh-ed25519 KEY\n"},
        {"*, !h ssh-ed25519 KEY\n"},
        {"[h] ssh-ed25519 KEY\n"},
        {"[a-z] ssh-ed25519 KEY\n"},
        {"h," + std::string(1030, 'x') + " ssh-ed25519 KEY\n"},
        {std::string(1030, 'x') + ",h ssh-ed25519 KEY\n"},
        {"h," + std::string(900, 'x') + "," + std::string(900, 'y') + " ssh-ed25519 KEY\n"},
        {"h ssh-ed25519 KEY " + std::string(100'000, 'c') + "\n"},
        {hashed + "P52femGmyhHsNXzeKdYpm86Fs/c= ssh-ed25519 KEY\n"}, // of "h"
        {hashed + "P52femGmyhHsNXzeKdYpm86Fs/c ssh-ed25519 KEY\n"},
        {hashed + "P52femGmyhHsNXzeKdYpm86Fs/c=| ssh-ed25519 KEY\n"},
        {"|1|AAECAwQFBgcICQoLDA0ODxAREhM|P52femGmyhHsNXzeKdYpm86Fs/c= ssh-ed25519 KEY\n"},
        {"|1|AAEC|GNLkdPrR/THjGlsTc2lqYJJZLiU= ssh-ed25519 KEY\n"},
        {"x," + hashed + "P52femGmyhHsNXzeKdYpm86Fs/c= ssh-ed25519 KEY\n"},
        {"h ssh-ed25519 OTHER\n"},
        {"h ssh-ed25519 OTHER\n" + good},
        {"h ssh-ed25519 OTHER\n[h]:2222 ssh-ed25519 KEY\n", "h", 2222},
        {good, "h", 2222},
        {"[h]:2222 ssh-ed25519 OTHER\n" + good, "h", 2222},
        {"[h]:22 ssh-ed25519 KEY\n"},
        {"[*]:2222 ssh-ed25519 KEY\n", "h", 2222},
        {"[h]:* ssh-ed25519 KEY\n", "h", 2222},
        {"@cert-authority [h]:2222 ssh-ed25519 OTHER\n" + good, "h", 2222},
        {good, "x", 2222, "[h]:2222"},
        {good, "x", 2222, "H"},
        {good, "h", 22, "x"},
        {"fe80::1 ssh-ed25519 KEY\n", "fe80::1"},
        {"[fe80::1]:2222 ssh-ed25519 KEY\n", "fe80::1", 2222},
        {"@cert-authority h ssh-ed25519 KEY\n"},
        {"@marker h ssh-ed25519 KEY\n"},
        {"@ h ssh-ed25519 KEY\n"},
        {"h ssh-ed25519-cert-v01@openssh.com CERT\n"},
        // Revoked: whatever stands around it.
        {good + "@revoked h ssh-ed25519 KEY\n"},
        {good + "@revoked * ssh-ed25519 KEY\r\n"},
        {good + " \t@revoked h\tssh-ed25519\tKEY"},
        {good + "@revoked h ssh-ed25519 KEYNULrest\n"},
        {good + "@revoked h ssh-ed25519 \vKEY\n"},
        {good + "@revoked h ssh-ed25519-cert-v01@openssh.com CERT\n"},
        {good + "@revoked x,!h ssh-ed25519 KEY\n"},
        {good + "@revoked x ssh-ed25519 KEY\n"},
        {good + "#@revoked h ssh-ed25519 KEY\n"},
        {good + "@REVOKED h ssh-ed25519 KEY\n"},
        {good + "@revoked @revoked h ssh-ed25519 KEY\n"},
        {good + "@revoked h ssh-ed25519 OTHER\n"},
        {"[h]:2222 ssh-ed25519 KEY\n@revoked [h]:2222 ssh-ed25519 KEY\n", "h", 2222},
        {good + "@revoked\th ssh-ed25519 KEY\n", "h", 22, "", Ours::stricter},
        {good + "@revoked h ssh-rsa KEY\n", "h", 22, "", Ours::stricter},
        {"[h]:2222 ssh-ed25519 KEY\n@revoked h ssh-ed25519 KEY\n", "h", 2222, "", Ours::stricter},
    };
    int trusted = 0;
    for (const auto& one : cases) {
        const auto text = filled(one.text);
        CAPTURE(printable(one.text.substr(0, 200)));
        CAPTURE(one.name);
        KnownHosts known;
        known.add(text, "file");
        const bool here = known.judge(known_name(one.name, one.port, one.alias), openssh().blob()).verdict ==
                          KnownHosts::Verdict::known;
        const bool there = openssh().trusts(text, one.name, one.port, one.alias, "");
        CHECK((one.ours == Ours::same ? here == there : there && !here));
        trusted += there ? 1 : 0;
    }
    CHECK(trusted > 20); // the other side does judge
}

TEST_CASE("no list of revoked keys lets a host in that ssh refuses") {
    const auto made = [](const std::string& name, std::vector<std::string> options) {
        options.insert(options.begin(), {"ssh-keygen", "-q", "-k", "-f", openssh().file(name)});
        run_program(options);
        return content(openssh().file(name));
    };
    std::ofstream(openssh().file("words"))
        << "serial: 1-3\nserial: 5\nid: somebody\nsha256: ssh-ed25519 " << openssh().key() << "\n";
    std::ofstream(openssh().file("hash")) << "sha1: ssh-ed25519 " << openssh().key() << "\n";
    const auto by_key = made("by_key", {openssh().file("host.pub")});
    const auto by_hashes = made("by_hashes", {"-s", openssh().file("other.pub"), openssh().file("words")});
    const auto of_another =
        made("of_another", {"-s", openssh().file("other.pub"), "-z", "7", openssh().file("host-cert.pub"),
                            openssh().file("third.pub")});
    struct RevokedCase {
        std::string text;
        Ours ours = Ours::same;
    };
    std::vector<RevokedCase> cases{
        {"ssh-ed25519 KEY\n"},
        {"ssh-ed25519\tKEY\thost\n"},
        {"\t ssh-ed25519 \t KEY"},
        {"ssh-ed25519 KEY\r\n"},
        {"ssh-ed25519 OTHER\n"},
        {"# ssh-ed25519 KEY\n\n \t\nssh-ed25519 OTHER comment\n"},
        {"ssh-ed25519 OTHER KEY\n"},
        {"ssh-ed25519 OTHER\nhello\n"},
        {"ssh-ed25519 OTHER\n\xEF\xBB\xBFssh-ed25519 KEY\n"},
        {"\r\nssh-ed25519 OTHER\r\n"},
        {"h ssh-ed25519 OTHER\n"},
        {"ssh-rsa OTHER\n"},
        {"ssh-ed25519 OTHERAAAA\n"},
        {"ssh-ed25519 OTHERNULrest\n"},
        {"no-pty ssh-ed25519 OTHER\n"},
        {"ssh-ed25519-cert-v01@openssh.com CERT\n"},
        {" "},
        {by_key},
        {by_hashes},
        {made("by_hash", {openssh().file("hash")})},
        {of_another},
        {of_another + by_key},
        {of_another + std::string("\xFF\0\0\0\0", 5)},
        {of_another + std::string("\4\0\0\0\0", 5)},
        {of_another + std::string("\3\0\0\0\7\0\0\0\3abc", 12)},
        {of_another + std::string("\1\0\0\0\3abc", 8)},
        {of_another + std::string("\1\0\0\0\x10\0\0\0\0\0\0\0\0\x20\0\0\0\3abc", 21)},
        {of_another + std::string("\1\0\0\0\x0d\0\0\0\0\0\0\0\0\x77\0\0\0\0", 18)},
    };
    for (std::size_t size = 1; size < of_another.size(); size += 11) {
        cases.push_back({of_another.substr(0, size)});
    }
    const auto known = "h ssh-ed25519 " + openssh().key() + "\n";
    int refused = 0;
    for (const auto& one : cases) {
        const auto text = one.text.starts_with("SSHKRL") ? one.text : filled(one.text);
        CAPTURE(printable(one.text));
        const auto revoked = is_revoked_in(text, openssh().blob());
        const bool there = openssh().trusts(known, "h", 22, "", text);
        CHECK((revoked && !*revoked) == there);
        refused += there ? 0 : 1;
    }
    CHECK(refused > 10);
    CHECK(refused < static_cast<int>(cases.size()));
}

} // namespace openssh_files_test
