#include "client/engine/transport/ssh/keywords.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace dockdist {
namespace {

struct Keywords {
    SshKeyword meaning;
    std::string_view names; // with a blank before and behind each
};

// Those of OpenSSH 7.4 to 10.5, and of Debian's and Apple's.
constexpr std::array keywords{
    Keywords{SshKeyword::obeyed, // which machine, and by which way
             " user hostname port proxycommand proxyjump connecttimeout serveraliveinterval "
             "serveralivecountmax "},
    Keywords{SshKeyword::obeyed, // what is trusted
             " ciphers macs kexalgorithms hostkeyalgorithms requiredrsasize userknownhostsfile "
             "globalknownhostsfile hostkeyalias checkhostip stricthostkeychecking verifyhostkeydns "
             "nohostauthenticationforlocalhost gssapikeyexchange "},
    Keywords{SshKeyword::obeyed, // who logs in
             " identityfile identitiesonly identityagent pubkeyauthentication preferredauthentications "
             "pubkeyacceptedalgorithms pubkeyacceptedkeytypes batchmode controlpath passwordauthentication "
             "kbdinteractiveauthentication challengeresponseauthentication gssapiauthentication "
             "hostbasedauthentication "},
    Keywords{SshKeyword::beyond,
             " addressfamily bindaddress bindinterface proxyusefdpass permitlocalcommand knownhostscommand "
             "revokedhostkeys certificatefile pkcs11provider rekeylimit "},
    Keywords{SshKeyword::idle, // `ssh -G` has made hostname of it
             " host canonicaldomains canonicalizefallbacklocal canonicalizehostname canonicalizemaxdots "
             "canonicalizepermittedcnames ignoreunknown tag "},
    // How ssh itself goes about what is left to it: certificates, other logins than by a key, what it writes.
    Keywords{SshKeyword::idle,
             " updatehostkeys hashknownhosts casignaturealgorithms kbdinteractivedevices "
             "numberofpasswordprompts gssapidelegatecredentials gssapitrustdns gssapirenewalforcesrekey "
             "gssapikexalgorithms gssapiclientidentity gssapiserveridentity hostbasedacceptedalgorithms "
             "hostbasedkeytypes enablesshkeysign rhostsrsaauthentication rsaauthentication "
             "securitykeyprovider addkeystoagent usekeychain "},
    // Shells, terminals and forwardings, for which nobody asks here.
    Keywords{
        SshKeyword::idle,
        " localcommand remotecommand sessiontype requesttty stdinnull forkafterauthentication escapechar "
        "enableescapecommandline sendenv setenv forwardagent forwardx11 forwardx11trusted "
        "forwardx11timeout xauthlocation localforward remoteforward dynamicforward gatewayports "
        "clearallforwardings exitonforwardfailure permitremoteopen streamlocalbindmask "
        "streamlocalbindunlink tunnel tunneldevice channeltimeout obscurekeystroketiming "},
    // A connection is dockdist's own, and as many of them as it needs.
    Keywords{SshKeyword::idle, " controlmaster controlpersist connectionattempts compression "
                               "compressionlevel tcpkeepalive ipqos versionaddendum useprivilegedport "},
    Keywords{SshKeyword::idle, // what ssh says to its user
             " loglevel logverbose syslogfacility fingerprinthash visualhostkey warnweakcrypto "},
};

} // namespace

SshKeyword ssh_keyword(std::string_view name) {
    const auto word = " " + std::string(name) + " ";
    const auto* const found = std::ranges::find_if(
        keywords, [&](const Keywords& row) { return row.names.find(word) != std::string_view::npos; });
    return found == keywords.end() ? SshKeyword::unknown : found->meaning;
}

bool switches_off(std::string_view value) {
    constexpr std::array<std::string_view, 6> off{"no", "none", "false", "any", "0", "0 0"};
    return value.empty() || std::ranges::find(off, value) != off.end();
}

} // namespace dockdist
