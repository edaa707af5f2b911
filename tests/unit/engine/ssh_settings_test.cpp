// What `ssh -G` says, read.
#include "client/engine/transport/ssh/keywords.hpp"
#include "client/engine/transport/ssh/settings.hpp"
#include "fakes/ssh_front.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

namespace ssh_settings_test {

using namespace dockdist;

namespace {

SshSurroundings surroundings() {
    static const std::map<std::string, std::string> variables{
        {"SSH_AUTH_SOCK", "/run/agent"}, {"OTHER_AGENT", "/run/other"}, {"KEYS", "/keys"}};
    return {"/home/ada", "ada", [](const std::string& name) {
                const auto found = variables.find(name);
                return found == variables.end() ? std::nullopt : std::optional(found->second);
            }};
}

SshSettings read(std::string_view text, const std::string& url = "ssh://gpu-1") {
    return parse_ssh_settings(text, parse_engine_address(url).value(), surroundings());
}

using Words = std::vector<std::string>;

// What the ssh of this machine says of "gpu-1" by this configuration.
std::string told_by_ssh(const std::string& config) {
    const TemporaryFolder folder;
    std::ofstream(folder.file("config")) << config;
    return run_program({"ssh", "-F", folder.file("config"), "-G", "--", "gpu-1"});
}

} // namespace

// Options that ssh prints only where they are set.
constexpr const char* everything_set = R"(
IgnoreUnknown ChannelTimeout,Tag,ObscureKeystrokeTiming,VersionAddendum,WarnWeakCrypto
BindAddress 127.0.0.1
BindInterface lo
CertificateFile /c
ChannelTimeout session=1m
ControlPath /run/ctl-%C
ControlPersist 10
DynamicForward 1080
ForwardAgent $OTHER
HostKeyAlias x
IdentityAgent /run/agent
KbdInteractiveDevices bsdauth
KnownHostsCommand /bin/echo
LocalCommand true
LocalForward 8080 localhost:80
PKCS11Provider /lib/x.so
PermitRemoteOpen localhost:80
PreferredAuthentications publickey
ProxyJump jump
RekeyLimit 1G 1h
RemoteCommand true
RemoteForward 8081 localhost:80
RevokedHostKeys /r
SetEnv A=b
Tag t
TunnelDevice 1:2
CanonicalDomains example.org
CanonicalizePermittedCNAMEs *.example.org:*.example.org
LogVerbose kex.c:*:1000
ObscureKeystrokeTiming no
)";

TEST_CASE("every keyword of this machine's ssh has its meaning in the table") {
    const auto version = run_program({"sh", "-c", "ssh -V 2>&1"});
    CAPTURE(version);
    std::size_t lines = 0;
    for (const auto& config :
         {std::string(), std::string(everything_set), std::string("ProxyCommand nc\n")}) {
        for (const auto& line : split(told_by_ssh(config), '\n')) {
            const auto keyword = to_lower(line.substr(0, line.find(' ')));
            CAPTURE(line);
            CHECK((keyword.empty() || ssh_keyword(keyword) != SshKeyword::unknown));
            ++lines;
        }
    }
    CHECK(lines > 150);
    CHECK(ssh_keyword("nothing") == SshKeyword::unknown);
    CHECK(ssh_keyword("") == SshKeyword::unknown);
    CHECK(ssh_keyword("forward") == SshKeyword::unknown);
}

TEST_CASE("nothing that ssh says by default is beyond dockdist, and what is is named") {
    const auto told = [](const std::string& config) { return read(told_by_ssh(config)).beyond; };
    CHECK(told("").empty());
    CHECK(told("UserKnownHostsFile /a /b ~/.ssh/c\nSetEnv A=b\nControlPath none\n").empty());
    CHECK(told("BindAddress 10.0.0.1\n") == "bindaddress 10.0.0.1");
    CHECK(told("AddressFamily inet6\n") == "addressfamily inet6");
    CHECK(told("KnownHostsCommand /bin/keys %H\n") == "knownhostscommand /bin/keys %H");
    CHECK(told("RekeyLimit 1G\n") == "rekeylimit 1073741824 0");
    CHECK(told("PubkeyAuthentication no\n") == "pubkeyauthentication false");
    CHECK(told("PubkeyAuthentication unbound\n").empty());
    CHECK(told("PreferredAuthentications password,keyboard-interactive\n") ==
          "preferredauthentications password,keyboard-interactive");
    CHECK(told("PreferredAuthentications gssapi-with-mic,publickey\n").empty());
    CHECK(told("ProxyUseFdpass yes\nProxyCommand nc\n") == "proxyusefdpass yes");
    CHECK(told("UserKnownHostsFile \"/a b/known\"\n") == "userknownhostsfile /a b/known");
    CHECK(told("RevokedHostKeys \"/a b\"\n") == "revokedhostkeys /a b");
    CHECK(read("futurekeyword yes\n").beyond == "futurekeyword yes"); // of a newer ssh
    CHECK(read("futurekeyword no\n").beyond.empty());
}

TEST_CASE("what ssh may do where dockdist gives up, and what a session of its own must not do") {
    const auto usual = read(told_by_ssh(""));
    CHECK(usual.strict);
    CHECK_FALSE(usual.checks_otherwise);
    CHECK(usual.control_path.empty());
    CHECK(usual.local_command.empty());
    CHECK(std::ranges::count(usual.other_logins, "password") == 1);
    CHECK(std::ranges::count(usual.session_options, "RequestTTY=no") == 1);
    CHECK(std::ranges::count(usual.session_options, "RemoteCommand=none") == 0);
    const auto own =
        read(told_by_ssh("StrictHostKeyChecking accept-new\nVerifyHostKeyDNS ask\nBatchMode yes\n"
                         "ControlPath /run/%r@%h-%p\nPermitLocalCommand yes\nLocalCommand echo %h; true\n"
                         "RemoteCommand top\nGSSAPIAuthentication no\n"));
    CHECK_FALSE(own.strict);
    CHECK(own.checks_otherwise);
    CHECK(own.control_path.ends_with("@gpu-1-22"));
    CHECK(own.local_command == "echo %h; true");
    CHECK(own.other_logins.empty());
    CHECK(std::ranges::count(own.session_options, "RemoteCommand=none") == 1);
}

TEST_CASE("the algorithms are those that ssh would agree to, and no file is read that ssh does not read") {
    const auto settings = read(told_by_ssh("Ciphers aes256-ctr\nMACs -*sha1*,*md5*,umac*\n"
                                           "KexAlgorithms ^ecdh-sha2-nistp384\nHostKeyAlgorithms +ssh-rsa\n"
                                           "PubkeyAcceptedAlgorithms ssh-ed25519\nRequiredRSASize 3072\n"
                                           "CheckHostIP yes\nBatchMode yes\nUserKnownHostsFile none\n"
                                           "GlobalKnownHostsFile none\n"));
    const auto& allowed = settings.algorithms;
    CHECK(allowed.ciphers == Words{"aes256-ctr"});
    CHECK(allowed.macs == Words{"hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com",
                                "hmac-sha2-256", "hmac-sha2-512"});
    CHECK(allowed.key_exchange.front() == "ecdh-sha2-nistp384");
    CHECK(allowed.host_keys.back() == "ssh-rsa");
    CHECK(allowed.user_keys == Words{"ssh-ed25519"});
    CHECK(allowed.rsa_bits == 3072);
    CHECK(settings.check_address);
    CHECK(settings.batch);
    CHECK(settings.known_hosts.empty());
    const auto usual = read(told_by_ssh("")).algorithms;
    for (const auto* weak : {"diffie-hellman-group1-sha1", "3des-cbc", "hmac-md5", "ssh-rsa", "ssh-dss"}) {
        CAPTURE(weak);
        for (const auto& algorithms : {usual, SshAlgorithms{}}) {
            for (const auto* names : {&algorithms.key_exchange, &algorithms.ciphers, &algorithms.macs,
                                      &algorithms.host_keys, &algorithms.user_keys}) {
                CHECK(std::ranges::count(*names, weak) == 0);
            }
        }
    }
}

TEST_CASE("the command asks for the host with the user and port of the address alone") {
    const auto command = [](const char* url) {
        return ssh_settings_command(parse_engine_address(url).value());
    };
    CHECK(command("ssh://gpu-1") == Words{"ssh", "-G", "--", "gpu-1"});
    CHECK(command("ssh://ops@gpu-1:2222/run/docker.sock") ==
          Words{"ssh", "-G", "-l", "ops", "-p", "2222", "--", "gpu-1"});
}

TEST_CASE("what ssh says is taken over") {
    const auto settings = read("host gpu-1\nuser ops\nhostname 10.0.0.1\nport 2022\nidentitiesonly yes\n"
                               "identityfile ~/.ssh/work\nidentityfile ${KEYS}/%h-%r-%p\n"
                               "userknownhostsfile ~/.ssh/known_hosts /else/known\n"
                               "globalknownhostsfile /etc/ssh/ssh_known_hosts\nhostkeyalias gpu\n"
                               "revokedhostkeys /else/revoked\n"
                               "connecttimeout 7\nserveraliveinterval 30\nserveralivecountmax 5\n");
    CHECK(settings.alias == "gpu-1");
    CHECK(settings.host == "10.0.0.1");
    CHECK(settings.user == "ops");
    CHECK(settings.port == Port{2022});
    CHECK(settings.identities_only);
    CHECK(settings.identity_files == Words{"/home/ada/.ssh/work", "/keys/10.0.0.1-ops-2022"});
    CHECK(settings.known_hosts ==
          Words{"/home/ada/.ssh/known_hosts", "/else/known", "/etc/ssh/ssh_known_hosts"});
    CHECK(settings.beyond == "revokedhostkeys /else/revoked");
    CHECK(settings.host_key_alias == "gpu");
    CHECK(settings.connect_timeout == std::chrono::seconds(7));
    CHECK(settings.alive_interval == std::chrono::seconds(30));
    CHECK(settings.alive_count == 5);
    CHECK(settings.agent_socket == "/run/agent");
    CHECK(settings.proxy.empty());
}

TEST_CASE("the address's own user and port come first") {
    const auto settings = read("user ops\nhostname 10.0.0.1\nport 2022\n", "ssh://root@gpu-1:2200");
    CHECK(settings.user == "root");
    CHECK(settings.port == Port{2200});
}

TEST_CASE("without an ssh program its defaults hold") {
    const auto settings = read("");
    CHECK(settings.host == "gpu-1");
    CHECK(settings.user == "ada");
    CHECK(settings.port == Port{22});
    CHECK(settings.identity_files ==
          Words{"/home/ada/.ssh/id_rsa", "/home/ada/.ssh/id_ecdsa", "/home/ada/.ssh/id_ed25519"});
    CHECK(settings.known_hosts == Words{"/home/ada/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"});
    CHECK_FALSE(settings.connect_timeout.has_value());
    CHECK(settings.alive_interval == std::chrono::seconds(10));
}

TEST_CASE("what is switched off is off") {
    const auto settings =
        read("identityfile none\nidentityagent none\nproxycommand none\nproxyjump none\n"
             "serveraliveinterval 0\nserveralivecountmax 3\nconnecttimeout none\nuserknownhostsfile none\n");
    CHECK(settings.identity_files.empty());
    CHECK(settings.agent_socket.empty());
    CHECK(settings.proxy.empty());
    CHECK(settings.known_hosts.empty());
    CHECK(settings.alive_interval ==
          std::chrono::seconds(10)); // a host that goes silent is noticed all the same
    CHECK(settings.alive_count == 2);
}

TEST_CASE("the agent is a path, a variable, or what SSH_AUTH_SOCK says") {
    CHECK(read("identityagent SSH_AUTH_SOCK\n").agent_socket == "/run/agent");
    CHECK(read("identityagent $OTHER_AGENT\n").agent_socket == "/run/other");
    CHECK(read("identityagent $NOT_SET\n").agent_socket.empty());
    CHECK(read("identityagent ~/agent.sock\n").agent_socket == "/home/ada/agent.sock");
    CHECK(read("identityagent ${KEYS}/agent\n").agent_socket == "/keys/agent");
}

TEST_CASE("a proxy command gets its tokens, and is run without a shell that stays") {
    const auto settings = read("hostname 10.0.0.1\nuser ops\nproxycommand nc -X connect %h %p %r %n 100%%\n");
    CHECK(settings.proxy == Words{"/bin/sh", "-c", "exec nc -X connect 10.0.0.1 22 ops gpu-1 100%"});
}

TEST_CASE("a jump host is reached by the user's own ssh, which no jump host can make take an option") {
    const auto jump = [](const std::string& text) {
        return read("hostname h\n" + std::string("proxyjump ") + text).proxy;
    };
    CHECK(jump("bastion") == Words{"ssh", "-W", "[h]:22", "--", "bastion"});
    CHECK(jump("ops@bastion:2222") ==
          Words{"ssh", "-W", "[h]:22", "-l", "ops", "-p", "2222", "--", "bastion"});
    CHECK(jump("ops@[10.0.0.9]:2222") ==
          Words{"ssh", "-W", "[h]:22", "-l", "ops", "-p", "2222", "--", "10.0.0.9"});
    CHECK(jump("[fe80::1]") == Words{"ssh", "-W", "[h]:22", "--", "fe80::1"});
    CHECK(jump("first,ada@second,third") ==
          Words{"ssh", "-J", "first,ada@second", "-W", "[h]:22", "--", "third"});
    CHECK(jump("-oProxyCommand=x").back() == "-oProxyCommand=x");
    CHECK(jump("-oProxyCommand=x")[3] == "--");
}

TEST_CASE("nonsense is no settings, and no crash") {
    const auto settings =
        read("port 99999999999\nconnecttimeout soon\nserveralivecountmax -3\nport\n\n \nuser\r\n"
             "identityfile %\nidentityfile ${UNCLOSED\nproxyjump ,\n");
    CHECK(settings.port == Port{22});
    CHECK_FALSE(settings.connect_timeout.has_value());
    CHECK(settings.alive_count == 2);
    CHECK(settings.identity_files == Words{"%", "${UNCLOSED"});
    std::mt19937 random(7);
    const std::string_view pieces[] = {"proxyjump ", "identityfile ",
                                       "port ",      "%",
                                       "${",         "}",
                                       "~/",         ",",
                                       "@",          ":",
                                       "[",          "]",
                                       "\n",         " ",
                                       "x",          "9",
                                       "\0",         "\xFF"};
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        for (auto length = random() % 24; length > 0; --length) {
            text += pieces[random() % std::size(pieces)];
        }
        (void)read(text);
    }
}

} // namespace ssh_settings_test
