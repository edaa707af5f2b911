#include "client/serve/http_server.hpp"

#include "client/async/listen_at.hpp"
#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/async/throw_if_cancelled.hpp"
#include "client/async/with_timeout.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include <optional>
#include <vector>

namespace dockdist {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr int connections_at_a_time = 256; // whoever looks keeps one
constexpr std::size_t answers_at_a_time = 8;
constexpr auto first_request = 5s;    // from the connection to the end of the first request
constexpr auto longest_request = 30s; // from the answer before to the end of the next request
constexpr auto longest_answer = 10s;
constexpr auto after_no_accept = 1s; // the process has too many descriptors
constexpr std::uint32_t longest_header = 8U << 10U;
constexpr auto quiet = asio::as_tuple(asio::use_awaitable);

using Request = http::request<http::empty_body>;
using Answer = http::response<http::string_body>;

Error gone() {
    return Error{ErrorKind::unreachable, "", "the client is gone", ""};
}

Task<Result<Request>> read_request(tcp::socket& socket, boost::beast::flat_buffer& buffer) {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(longest_header);
    parser.body_limit(0);
    const auto [error, size] = co_await http::async_read(socket, buffer, parser, quiet);
    co_await throw_if_cancelled(error);
    if (error) {
        co_return gone();
    }
    co_return parser.release();
}

Task<Status> write_answer(tcp::socket& socket, Answer& answer) {
    const auto [error, size] = co_await http::async_write(socket, answer, quiet);
    co_await throw_if_cancelled(error);
    co_return error ? Status(gone()) : ok;
}

// A page of elsewhere that has its own name lead here would be let read what is here.
bool is_meant(const Request& request, bool from_loopback) {
    auto host = std::string_view(request[http::field::host].data(), request[http::field::host].size());
    if (const auto colon = host.rfind(':'); colon != std::string_view::npos && !host.ends_with(']')) {
        host = host.substr(0, colon);
    }
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    return !from_loopback || host.empty() || is_loopback(host);
}

// Of a request that is wrong in itself.
std::optional<HttpReply> refusal(const Request& request, bool from_loopback) {
    if (!is_meant(request, from_loopback)) {
        return HttpReply{.status = static_cast<unsigned>(http::status::misdirected_request),
                         .body = "ask for localhost\n"};
    }
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
        return HttpReply{.status = static_cast<unsigned>(http::status::method_not_allowed),
                         .body = "only GET\n"};
    }
    return std::nullopt;
}

HttpQuestion question_of(const Request& request) {
    const std::string_view target(request.target().data(), request.target().size());
    const auto accept = request[http::field::accept];
    return {.path = std::string(target.substr(0, target.find('?'))),
            .accept = std::string(accept.data(), accept.size())};
}

Answer answer_of(const Request& request, HttpReply reply) {
    Answer answer{http::status(reply.status), request.version()};
    answer.keep_alive(request.keep_alive());
    answer.set(http::field::content_type, reply.type);
    answer.set(http::field::cache_control, "no-store");
    answer.set("Referrer-Policy", "no-referrer"); // an address may be a secret
    answer.set("X-Content-Type-Options", "nosniff");
    answer.set("X-Frame-Options", "DENY");
    if (answer.result() == http::status::method_not_allowed) {
        answer.set(http::field::allow, "GET, HEAD");
    }
    answer.body() = std::move(reply.body);
    answer.prepare_payload();
    if (request.method() == http::verb::head) {
        const auto size = answer.body().size();
        answer.body().clear();
        answer.content_length(size);
    }
    return answer;
}

} // namespace

Result<ListenAddress> parse_listen_address(const std::string& text, bool anywhere) {
    const auto colon = text.rfind(':');
    auto host = text.substr(0, colon == std::string::npos ? 0 : colon);
    const auto port = whole_number<std::uint16_t>(colon == std::string::npos ? "" : text.substr(colon + 1));
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string::npos) {
        host.clear(); // an IPv6 address without its brackets
    }
    const bool loopback = is_loopback(host);
    boost::system::error_code error;
    if (host == "localhost") {
        host = "127.0.0.1";
    }
    (void)asio::ip::make_address(host, error);
    if (!port || error) {
        return Error{ErrorKind::usage, "--listen", "`" + printable(text) + "` is not an address to listen on",
                     "write ADDRESS:PORT, an IP address: 127.0.0.1:9464, [::1]:9464"};
    }
    if (!loopback && !anywhere) {
        return Error{ErrorKind::usage, "--listen",
                     "`" + printable(text) +
                         "` can be reached from other machines, without a password and in plain text",
                     "leave it at 127.0.0.1, or add --insecure-listen where the network is trusted"};
    }
    return ListenAddress{.host = host, .port = *port};
}

Result<HttpServer> HttpServer::listen(const asio::any_io_executor& executor, const std::string& address,
                                      bool anywhere, const std::string& hint) {
    const auto at = parse_listen_address(address, anywhere);
    TRY(at);
    tcp::acceptor acceptor(executor);
    const tcp::endpoint endpoint(asio::ip::make_address(at->host), at->port);
    if (const auto error = listen_at(acceptor, endpoint)) {
        return Error{ErrorKind::conflict, fmt::format("{}:{}", at->host, at->port),
                     "cannot listen there: " + error.message(),
                     error == asio::error::address_in_use ? hint : ""};
    }
    return HttpServer(std::move(acceptor));
}

std::string HttpServer::url() const {
    const auto endpoint = acceptor_.local_endpoint();
    const auto host = endpoint.address().to_string();
    return fmt::format("http://{}:{}", endpoint.address().is_v6() ? "[" + host + "]" : host, endpoint.port());
}

HttpServer::HttpServer(tcp::acceptor acceptor)
    : acceptor_(std::move(acceptor)), turns_(acceptor_.get_executor(), answers_at_a_time) {}

Task<void> HttpServer::serve(Answers answers) {
    std::vector<Task<Status>> workers;
    for (int i = 0; i < connections_at_a_time; ++i) {
        workers.push_back(work(answers));
    }
    co_await run_all(std::move(workers));
}

Task<Status> HttpServer::work(const Answers& answers) {
    while (true) {
        tcp::socket socket(acceptor_.get_executor());
        const auto [error] = co_await acceptor_.async_accept(socket, quiet);
        co_await throw_if_cancelled(error);
        if (error) {
            co_await pause_for(after_no_accept);
            continue;
        }
        (void)co_await talk(socket, answers); // it ends when the client does
    }
}

Task<Status> HttpServer::talk(tcp::socket& socket, const Answers& answers) {
    const bool loopback = acceptor_.local_endpoint().address().is_loopback();
    boost::beast::flat_buffer buffer;
    auto patience = first_request;
    while (true) {
        auto request = co_await with_timeout(read_request(socket, buffer), patience, gone());
        CO_TRY(request);
        patience = longest_request;
        const auto turn = co_await turns_.acquire(); // each holds a whole page
        auto reply = refusal(*request, loopback);
        if (!reply) {
            reply = co_await answers(question_of(*request));
        }
        auto answer = answer_of(*request, std::move(*reply));
        const auto written = co_await with_timeout(write_answer(socket, answer), longest_answer, gone());
        if (!written || !answer.keep_alive()) {
            co_return written;
        }
    }
}

} // namespace dockdist
