#include "node/job/ras_client.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ras_client_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

constexpr RasLimits short_ones{.greeting_ms = 100, .answer_ms = 400, .connections = 4};

// A socket at 127.0.0.1 as NCCL makes it; `port` 0: any.
struct Listener {
    Fd socket{};
    int port = 0;

    explicit Listener(int wanted = 0) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        constexpr int on = 1;
        const auto there = numeric_address("127.0.0.1", wanted);
        REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0);
        REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&there.storage), there.length) == 0);
        REQUIRE(::listen(socket.get(), 64) == 0);
        sockaddr_in bound{};
        socklen_t size = sizeof bound;
        REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0);
        port = ntohs(bound.sin_port);
    }
};

// One that has been accepted.
class Talk {
public:
    explicit Talk(int socket) : socket_(socket) {}
    void say(const std::string& words) const {
        (void)::send(socket_.get(), words.data(), words.size(), MSG_NOSIGNAL);
    }
    std::string hear() { // a line
        for (char letter = 0; heard_.find('\n') == std::string::npos;) {
            if (::read(socket_.get(), &letter, 1) != 1) {
                return "";
            }
            heard_ += letter;
        }
        return std::exchange(heard_, "");
    }
    void wait_for_end() {
        while (!hear().empty()) {
        }
    }

private:
    Fd socket_;
    std::string heard_{};
};

// Answers one connection after the other until it is over.
class Server {
public:
    explicit Server(std::function<void(Talk&)> talk, int port = 0)
        : listener_(port), thread_([this, talk = std::move(talk)] {
              for (int each = ::accept(listener_.socket.get(), nullptr, nullptr); each >= 0;
                   each = ::accept(listener_.socket.get(), nullptr, nullptr)) {
                  Talk one(each);
                  talk(one);
              }
          }) {}
    ~Server() {
        ::shutdown(listener_.socket.get(), SHUT_RDWR);
        thread_.join();
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    int port() const { return listener_.port; }

private:
    Listener listener_;
    std::thread thread_;
};

std::string recorded(const std::string& name) {
    std::ifstream stream(std::string(DOCKDIST_SOURCE_DIR) + "/tests/gpu_day/recordings/h200/ras/" + name +
                         ".txt");
    REQUIRE(stream.good());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return text.substr(text.rfind("STATUS\n") + 7);
}

void greets(Talk& talk) {
    if (!talk.hear().empty()) {
        talk.say("SERVER PROTOCOL 2\n");
    }
}

// As NCCL from 2.28.7 on does, whose answer is `body`.
std::function<void(Talk&)> says_json(std::string body) {
    return [body = std::move(body)](Talk& talk) {
        greets(talk);
        if (talk.hear() == "SET FORMAT json\n") {
            talk.say("OK\n");
            if (talk.hear() == "STATUS\n") {
                talk.say(body);
            }
        }
    };
}

std::string error_at(int port) {
    const auto asked = ask_ras(port, short_ones);
    return asked ? "" : asked.error().message;
}

} // namespace

TEST_CASE("RAS is asked for JSON, and heard to the end that it makes") {
    const Server server(says_json(recorded("stopped-unresponsive-json"))); // without its comma
    const auto asked = ask_ras(server.port());
    REQUIRE(asked.has_value());
    REQUIRE(asked->has_value());
    CHECK((*asked)->version == "2.28.9");
    CHECK((*asked)->ranks.at(0).kind == wire::RasRank::Kind::unresponsive);
}

TEST_CASE("an older one, which knows no formats, is asked for its text") {
    const Server server([](Talk& talk) {
        greets(talk);
        talk.hear();
        talk.say("ERROR: Unknown command SET FORMAT json\n");
        if (talk.hear() == "VERBOSE STATUS\n") {
            talk.say(recorded("skipped-verbose"));
        }
    });
    const auto asked = ask_ras(server.port());
    REQUIRE(asked.has_value());
    CHECK((*asked)->ranks.size() == 2);
}

TEST_CASE("it may answer in pieces, also the greeting") {
    const auto body = recorded("well-json");
    const Server server([&](Talk& talk) {
        talk.hear();
        for (const char letter : std::string("SERVER PROTOCOL 2\n")) {
            talk.say(std::string(1, letter));
        }
        talk.hear();
        talk.say("OK\n");
        talk.hear();
        for (std::size_t at = 0; at < body.size(); at += 100) {
            talk.say(body.substr(at, 100));
        }
    });
    CHECK((*ask_ras(server.port()))->ranks.empty());
}

TEST_CASE("of several at one port one that is stopped gets connections, and is left for another one") {
    const Listener stopped; // it never takes one
    const Server server(says_json(recorded("well-json")), stopped.port);
    for (int i = 0; i < 8; ++i) { // the kernel chooses
        const auto asked =
            ask_ras(stopped.port, {.greeting_ms = 100, .answer_ms = 60'000, .connections = 200});
        REQUIRE(asked.has_value());
        CHECK((*asked)->version == "2.28.9");
    }
}

TEST_CASE("nobody who listens is no error") {
    int port = 0;
    {
        const Listener gone;
        port = gone.port;
    }
    const auto asked = ask_ras(port, short_ones);
    REQUIRE(asked.has_value());
    CHECK_FALSE(asked->has_value());
}

TEST_CASE("who says nothing, comes to no end, or is no RAS, is an error within bounds") {
    const Listener silent;
    CHECK(error_at(silent.port) ==
          "none of the processes that listen at port " + std::to_string(silent.port) + " answers");
    const Server half([](Talk& talk) {
        greets(talk);
        talk.hear();
        talk.say("OK\n");
        talk.hear();
        talk.say("{\"nccl_version\":");
        talk.wait_for_end();
    });
    CHECK(error_at(half.port()) == "RAS has begun to answer, and came to no end");
    const Server mute([](Talk& talk) {
        greets(talk);
        talk.wait_for_end();
    });
    CHECK(error_at(mute.port()) == "RAS greets, and answers no more");
    const Server web([](Talk& talk) {
        talk.hear();
        talk.say("HTTP/1.1 400 Bad Request\n");
    });
    CHECK(error_at(web.port()) ==
          "what listens at port " + std::to_string(web.port()) + " is not NCCL's RAS");
    const Server endless([](Talk& talk) {
        if (!talk.hear().empty()) {
            talk.say(std::string(100'000, 'x'));
            talk.wait_for_end();
        }
    });
    CHECK_FALSE(error_at(endless.port()).empty());
    const Server odd([](Talk& talk) {
        greets(talk);
        talk.hear();
        talk.say("\x1b[2Jno\n");
    });
    CHECK(error_at(odd.port()) == "RAS answers \"\\x1b[2Jno\"");
    const Server nonsense(says_json("[1, 2"));
    CHECK(error_at(nonsense.port()) == "RAS answers what is not its JSON");
}

TEST_CASE("a rank's environment says where its RAS is") {
    const auto port = [](const std::string& environ) {
        const auto found = ras_port_in(environ);
        return !found ? found.error().message : *found ? std::to_string(**found) : "none";
    };
    using namespace std::string_literals;
    CHECK(port("A=1\0NCCL_RAS_ADDR=127.0.0.1:20001\0"s) == "20001");
    CHECK(port("NCCL_RAS_ADDR=localhost:28028\0"s) == "28028");
    CHECK(port("A=1\0"s) == "none");
    CHECK(port("NCCL_RAS_ADDR=127.0.0.1:20001\0NCCL_RAS_ENABLE=0\0"s) == "none");
    CHECK(port("NCCL_RAS_ADDR=10.0.0.7:1\0"s) == "NCCL_RAS_ADDR is 10.0.0.7:1, and only 127.0.0.1 is asked");
    CHECK(port("NCCL_RAS_ADDR=127.0.0.1:99999\0"s).starts_with("NCCL_RAS_ADDR is 127.0.0.1:99999"));
    CHECK(port("NCCL_RAS_ADDR=127.0.0.1\0"s).starts_with("NCCL_RAS_ADDR is 127.0.0.1,"));
}

TEST_CASE("counts that differ are asked for twice, and told with the time between") {
    const Server stands(says_json(recorded("skipped-json")));
    const auto report =
        look_at_ras("NCCL_RAS_ADDR=127.0.0.1:" + std::to_string(stands.port()) + std::string(1, '\0'));
    CHECK(report.problem.empty());
    CHECK(report.asked_ms >= 1000);
    CHECK(report.ranks.size() == 2);
    CHECK_FALSE(report.moves);
    CHECK(look_at_ras("").version.empty());
    const Listener silent;
    CHECK(look_at_ras("NCCL_RAS_ADDR=127.0.0.1:7x" + std::string(1, '\0'))
              .problem.starts_with("NCCL_RAS_ADDR is"));
}

} // namespace ras_client_test
