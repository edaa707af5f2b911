// known_hosts, read here and by OpenSSH, on odd input: what is known here is known to `ssh`, and what has no
// markers the other way round too. The other side is a real sshd, as the ProxyCommand of ssh.
#include "client/engine/transport/ssh/known_hosts.hpp"
#include "fakes/ssh_front.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"

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
        for (const auto* name : {"host", "other"}) {
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
    bool trusts(const std::string& known, const std::string& name, int port, const std::string& alias) const {
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

struct KnownCase {
    std::string text;
    std::string name = "h";
    int port = 22;
    std::string alias{};
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
        {good + "@revoked\th ssh-ed25519 KEY\n"},
        {good + "@revoked h ssh-rsa KEY\n"},
        {"[h]:2222 ssh-ed25519 KEY\n@revoked h ssh-ed25519 KEY\n", "h", 2222},
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
        const bool there = openssh().trusts(text, one.name, one.port, one.alias);
        CHECK((here ? there : !there || text.find('@') != std::string::npos));
        trusted += there ? 1 : 0;
    }
    CHECK(trusted > 20); // the other side does judge
}

} // namespace openssh_files_test
