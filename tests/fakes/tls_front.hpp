// TLS for tests: certificates made on the spot, and a front that speaks TLS before a StubServer.
#pragma once

#include "shared/core/engine_address.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace dockdist {

class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

// A certificate authority with files of its own: "<name>.pem".
class TestAuthority {
public:
    TestAuthority(const TemporaryFolder& folder, const std::string& name);
    ~TestAuthority();

    const std::string& file() const { return file_; }

    // A certificate for `subject` ("IP:127.0.0.1", "DNS:node-1"), valid until `days` from now (negative:
    // expired). Written as "<name>-cert.pem" and "<name>-key.pem"; `ca` of the answer is this authority.
    TlsFiles issue(const std::string& name, const std::string& subject, int days = 1) const;

private:
    struct Keys;
    const TemporaryFolder& folder_;
    std::string file_;
    std::unique_ptr<Keys> keys_;
};

// Accepts TLS on 127.0.0.1, asks for a client certificate signed by server.ca, and passes all bytes on to
// `behind` and back. The end of one direction leaves the other open.
class TlsFront {
public:
    TlsFront(boost::asio::io_context& io, const TlsFiles& server, const EngineAddress& behind);
    ~TlsFront();

    EngineAddress address() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace dockdist
