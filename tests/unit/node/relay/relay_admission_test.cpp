#include "../turned_loop.hpp"
#include "node/relay/relay_admission.hpp"
#include "node/relay/relay_socket.hpp"

#include <doctest/doctest.h>

#include <dirent.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace relay_admission_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

// Who says "key" is let in, who says "no" sent away; the rest is answered "what?".
class Caller : public Stranger {
public:
    Verdict hear(std::string_view bytes, std::string& answer) override {
        said_ += bytes;
        answer = said_ == "key" ? "" : "what?\n";
        return said_ == "key" ? Verdict::let_in : said_ == "no" ? Verdict::send_away : Verdict::unknown;
    }

private:
    std::string said_{};
};

struct House {
    explicit House(AdmissionLimits limits = {})
        : door(
              turned.loop, listen_on("127.0.0.1", port), limits, [] { return std::make_unique<Caller>(); },
              [this](Fd connection, const std::unique_ptr<Stranger>&) {
                  guests.push_back(std::move(connection));
              }) {}
    // A connection that has said something.
    Fd call(const std::string& word = "") {
        auto connection = connect_to("127.0.0.1 " + std::to_string(port));
        REQUIRE(connection.has_value());
        say(*connection, word);
        return std::move(*connection);
    }
    void say(const Fd& connection, const std::string& word) {
        REQUIRE(send_all(connection.get(), word, 1000).has_value());
        turned.settle();
    }
    static bool is_closed(const Fd& connection) {
        char bytes[100];
        auto count = ::recv(connection.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        while (count > 0) {
            count = ::recv(connection.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        }
        return count == 0 || errno != EAGAIN;
    }

    TurnedLoop turned{};
    int port = 0;
    std::vector<Fd> guests{};
    RelayAdmission door;
};

// No more descriptors than there are, as long as this lives.
class NoDescriptors {
public:
    NoDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const Fd lowest(::dup(0));
        const rlimit none{.rlim_cur = static_cast<rlim_t>(lowest.get()), .rlim_max = before_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    }
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("who shows that they may is let in, with what they said") {
    House house;
    const auto caller = house.call("k");
    CHECK(house.door.strangers() == 1);
    house.say(caller, "ey");
    CHECK(house.guests.size() == 1);
    CHECK(house.door.strangers() == 0);
    house.turned.pass(100'000);
    CHECK_FALSE(House::is_closed(caller)); // who is let in has their own time
    const auto other = house.call("no");
    CHECK(House::is_closed(other));
    CHECK(house.guests.size() == 1);
}

TEST_CASE("who is sent away with an answer hears it to the end, whatever they still say") {
    House house;
    const auto caller = house.call("no");
    house.say(caller, std::string(10'000, 'x'));
    char bytes[100];
    REQUIRE(::recv(caller.get(), bytes, sizeof bytes, MSG_DONTWAIT) == 6);
    CHECK(std::string(bytes, 6) == "what?\n");
    CHECK(::recv(caller.get(), bytes, sizeof bytes, MSG_DONTWAIT) == 0); // an end, and no reset
    CHECK(house.door.strangers() == 1);
    ::shutdown(caller.get(), SHUT_WR);
    house.turned.settle();
    CHECK(house.door.strangers() == 0);
    const auto lingering = house.call("no");
    house.turned.pass(10'000);
    CHECK(house.door.strangers() == 0);
}

TEST_CASE("a stranger has ten seconds, however busily they say nothing") {
    House house;
    const auto silent = house.call();
    const auto busy = house.call("a");
    for (int i = 0; i < 9; ++i) {
        house.turned.pass(1000);
        house.say(busy, "a");
    }
    CHECK_FALSE(House::is_closed(silent));
    CHECK_FALSE(House::is_closed(busy));
    house.turned.pass(1000);
    CHECK(House::is_closed(silent));
    CHECK(House::is_closed(busy));
    CHECK(house.door.strangers() == 0);
}

TEST_CASE("one stranger too many, and the oldest goes: those who may come in do") {
    House house({.strangers = 4});
    std::vector<Fd> crowd;
    for (int i = 0; i < 20; ++i) {
        crowd.push_back(house.call(i % 2 == 0 ? "" : "a"));
    }
    CHECK(house.door.strangers() == 4);
    CHECK(House::is_closed(crowd[15]));
    CHECK_FALSE(House::is_closed(crowd[16]));
    const auto guest = house.call("key");
    CHECK(house.guests.size() == 1);
}

TEST_CASE("without a descriptor a stranger goes, or who comes waits; the door stays open") {
    House house;
    const auto stranger = house.call("a");
    const auto caller = connect_to("127.0.0.1 " + std::to_string(house.port));
    const auto second = connect_to("127.0.0.1 " + std::to_string(house.port));
    REQUIRE((caller.has_value() && second.has_value()));
    {
        const NoDescriptors none;
        house.turned.settle();
        CHECK(House::is_closed(stranger)); // its descriptor was what the next one needed
        const auto rounds = house.turned.loop.next_deadline_ms();
        CHECK(rounds.has_value());
    }
    house.turned.pass(200);
    house.say(*second, "key");
    CHECK(house.guests.size() == 1);
}

TEST_CASE("a door without strangers does not spin while there is no descriptor, and goes on afterwards") {
    House house;
    const auto caller = connect_to("127.0.0.1 " + std::to_string(house.port));
    REQUIRE(caller.has_value());
    {
        const NoDescriptors none;
        int turns = 0;
        while (house.turned.loop.turn(0) && turns < 10) {
            ++turns;
        }
        CHECK(turns <= 1);
        CHECK(house.door.strangers() == 0);
    }
    house.turned.pass(100);
    CHECK(house.door.strangers() == 1);
}

TEST_CASE("a slow reader is served as long as it moves, one that stands still is not waited for") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const Fd writer(ends[0]);
    Fd reader(ends[1]);
    const std::string bytes(4 << 20, 'x');
    std::thread slow([&] { // takes far longer than the limit, with a piece within each
        std::vector<char> piece(64 << 10);
        for (std::size_t got = 0; got < bytes.size();) {
            const auto count = receive(reader.get(), piece, 10'000);
            REQUIRE(count.has_value());
            got += *count;
            (void)::usleep(4'000);
        }
    });
    const auto begin = monotonic_ms();
    const auto sent = send_all(writer.get(), bytes, 100);
    CHECK(sent.has_value());
    CHECK(monotonic_ms() - begin > 100);
    slow.join();
    const auto stuck = send_all(writer.get(), bytes, 30);
    REQUIRE(stuck.has_error());
    CHECK(stuck.error().kind == ErrorKind::timeout);
    std::vector<char> piece(10);
    CHECK(receive(writer.get(), piece, 30).error().kind == ErrorKind::timeout);
    reader.reset();
    CHECK(send_all(writer.get(), bytes, 30).has_error());
}

} // namespace relay_admission_test
