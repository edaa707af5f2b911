// The ssh agent: which keys it holds, and its signatures (draft-miller-ssh-agent).
#pragma once

#include "client/async/task.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct AgentKey {
    std::string blob{}; // the public key
    std::string comment{};
    bool operator==(const AgentKey&) const = default;
};

// Messages without the length before them.
std::string agent_list_request();
std::optional<std::vector<AgentKey>> parse_agent_keys(std::string_view answer);
std::string agent_sign_request(std::string_view blob, std::string_view data);
// The bare signature, without the name of its algorithm.
std::optional<std::string> parse_agent_signature(std::string_view answer);

// Errors: unreachable; without `where`. No deadline: a person may have to say yes.
class SshAgent {
public:
    static Task<Result<std::unique_ptr<SshAgent>>> connect(boost::asio::any_io_executor executor,
                                                           std::string path);
    Task<Result<std::vector<AgentKey>>> keys();
    Task<Result<std::string>> sign(std::string blob, std::string data);

private:
    explicit SshAgent(boost::asio::local::stream_protocol::socket socket) : socket_(std::move(socket)) {}
    Task<Result<std::string>> ask(std::string request);

    boost::asio::local::stream_protocol::socket socket_;
};

} // namespace dockdist
