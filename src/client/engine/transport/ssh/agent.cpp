#include "client/engine/transport/ssh/agent.hpp"

#include "client/engine/transport/socket_stream.hpp"
#include "client/engine/transport/ssh/packet.hpp"

#include <boost/asio/read.hpp>
#include <fmt/format.h>

#include <array>

namespace dockdist {
namespace {

using boost::asio::local::stream_protocol;

enum : std::uint8_t {
    request_identities = 11,
    identities_answer = 12,
    sign_request = 13,
    sign_response = 14
};
constexpr std::uint32_t longest_message = 256 * 1024; // as OpenSSH has it
constexpr std::uint32_t rsa_sha2_256 = 2;             // a flag of a sign request

Error lost(std::string_view why) {
    return {ErrorKind::unreachable, "", fmt::format("the ssh agent does not answer: {}", why),
            "`ssh-add -l` asks it by hand"};
}

} // namespace

std::string agent_list_request() {
    return {static_cast<char>(request_identities)};
}

std::optional<std::vector<AgentKey>> parse_agent_keys(std::string_view answer) {
    PacketReader reader(answer);
    if (reader.u8() != identities_answer) {
        return std::nullopt;
    }
    const auto count = reader.u32();
    if (!count) {
        return std::nullopt;
    }
    std::vector<AgentKey> keys;
    for (std::uint32_t i = 0; i < *count; ++i) {
        const auto blob = reader.string();
        const auto comment = reader.string();
        if (!blob || !comment) {
            return std::nullopt;
        }
        keys.push_back({std::string(*blob), std::string(*comment)});
    }
    return keys;
}

std::string agent_sign_request(std::string_view blob, std::string_view data) {
    std::string request{static_cast<char>(sign_request)};
    put_string(request, blob);
    put_string(request, data);
    put_u32(request, key_type(blob) == "ssh-rsa" ? rsa_sha2_256 : 0);
    return request;
}

std::optional<std::string> parse_agent_signature(std::string_view answer) {
    PacketReader reader(answer);
    if (reader.u8() != sign_response) {
        return std::nullopt;
    }
    PacketReader signature(reader.string().value_or(std::string_view()));
    const auto algorithm = signature.string();
    const auto bytes = signature.string();
    return algorithm && bytes ? std::optional(std::string(*bytes)) : std::nullopt;
}

Task<Result<std::unique_ptr<SshAgent>>> SshAgent::connect(boost::asio::any_io_executor executor,
                                                          std::string path) {
    stream_protocol::socket socket(executor);
    boost::system::error_code error;
    if (path.size() > 107) {
        co_return lost("its socket's path is too long");
    }
    error = socket.open(stream_protocol(), error);
    if (!error) {
        set_close_on_exec(socket.native_handle());
        std::tie(error) = co_await socket.async_connect(stream_protocol::endpoint(path),
                                                        boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    if (error) {
        co_await throw_if_cancelled(error);
        co_return lost(fmt::format("{} ({})", error.message(), path));
    }
    co_return std::unique_ptr<SshAgent>(new SshAgent(std::move(socket)));
}

Task<Result<std::string>> SshAgent::ask(std::string request) {
    std::string message;
    put_string(message, request);
    auto [error, count] = co_await boost::asio::async_write(
        socket_, boost::asio::buffer(message), boost::asio::as_tuple(boost::asio::use_awaitable));
    std::array<char, 4> head{};
    if (!error) {
        std::tie(error, count) = co_await boost::asio::async_read(
            socket_, boost::asio::buffer(head), boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    std::string answer;
    if (!error) {
        const auto size = PacketReader({head.data(), head.size()}).u32().value_or(0);
        if (size == 0 || size > longest_message) {
            co_return lost("its message has an impossible length");
        }
        answer.resize(size);
        std::tie(error, count) = co_await boost::asio::async_read(
            socket_, boost::asio::buffer(answer), boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    if (error) {
        co_await throw_if_cancelled(error);
        co_return lost(error.message());
    }
    co_return answer;
}

Task<Result<std::vector<AgentKey>>> SshAgent::keys() {
    const auto answer = co_await ask(agent_list_request());
    CO_TRY(answer);
    auto keys = parse_agent_keys(*answer);
    if (!keys) {
        co_return lost("it does not list its keys");
    }
    co_return std::move(*keys);
}

Task<Result<std::string>> SshAgent::sign(std::string blob, std::string data) {
    const auto answer = co_await ask(agent_sign_request(blob, data));
    CO_TRY(answer);
    auto signature = parse_agent_signature(*answer);
    if (!signature) {
        co_return lost("it refused to sign");
    }
    co_return std::move(*signature);
}

} // namespace dockdist
