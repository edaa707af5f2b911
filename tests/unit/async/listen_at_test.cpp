#include "client/async/listen_at.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <doctest/doctest.h>

#include <array>

namespace listen_at_test {

using namespace dockdist;
using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

const auto loopback = boost::asio::ip::address_v4::loopback();

// A connection that this end leaves first, so that it is its address that lingers.
void be_left(boost::asio::io_context& io, tcp::acceptor& acceptor) {
    tcp::socket client(io);
    client.connect(acceptor.local_endpoint());
    acceptor.accept().close();
    std::array<char, 1> byte{};
    error_code error;
    boost::asio::read(client, boost::asio::buffer(byte), error);
    CHECK(error == boost::asio::error::eof);
}

} // namespace

TEST_CASE("an address that is bound is nobody else's, and takes connections once it listens") {
    boost::asio::io_context io;
    tcp::acceptor first(io);
    REQUIRE_FALSE(bind_at(first, {loopback, 0}));
    const auto address = first.local_endpoint();
    tcp::acceptor second(io);
    CHECK(bind_at(second, address) == boost::asio::error::address_in_use);
    tcp::socket early(io);
    error_code error;
    error = early.connect(address, error);
    CHECK(error == boost::asio::error::connection_refused);
    REQUIRE_FALSE(start_listening(first));
    be_left(io, first);
    tcp::acceptor third(io);
    CHECK(listen_at(third, address) == boost::asio::error::address_in_use);
}

TEST_CASE("an address that a connection has just left can be had again, by one") {
    boost::asio::io_context io;
    tcp::acceptor first(io);
    REQUIRE_FALSE(listen_at(first, {loopback, 0}));
    const auto address = first.local_endpoint();
    be_left(io, first);
    first.close();
    tcp::acceptor second(io);
    REQUIRE_FALSE(listen_at(second, address));
    be_left(io, second);
    tcp::acceptor third(io);
    CHECK(listen_at(third, address) == boost::asio::error::address_in_use);
}

TEST_CASE("the two loopback addresses share a port") {
    boost::asio::io_context io;
    tcp::acceptor ipv4(io);
    REQUIRE_FALSE(listen_at(ipv4, {loopback, 0}));
    tcp::acceptor ipv6(io);
    const auto error =
        listen_at(ipv6, {boost::asio::ip::address_v6::loopback(), ipv4.local_endpoint().port()});
    CHECK((!error || error == boost::asio::error::address_family_not_supported ||
           error == boost::system::errc::address_not_available));
}

} // namespace listen_at_test
