// How the parts of a detached job agree on who carries it. Rules and roles stand in
// shared/job_state/succession.hpp; here are the lines that a member and a coordinator, or one that would be
// it, exchange over the member's link.
//
//   member → coordinator   {"part":P,"term":T}   the first line of a link
//   coordinator → member   {"type":"ping",…}     LinkPing, every second or so
//   member → coordinator   {"type":"pong",…}     LinkPong, the answer to each
//
// All else on a link is what a supervisor and a client's follower say to each other, shared/wire/job.hpp. A
// member obeys no order before a ping of its own term has come on that link.
#pragma once

#include "shared/wire/job.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

// What a successor has to know. Its coordinator writes it, every part keeps the newest that it was told.
struct JobRecord {
    struct Version {
        std::int64_t term = 0; // of the coordinator that wrote it
        std::int64_t revision = 0;
        auto operator<=>(const Version&) const = default;
    };
    Version version{};
    int attempt = 0;            // that was begun last
    std::vector<int> leaving{}; // lost in this policy, but a voter still: too few parts may know of it yet
    JobPolicy policy{};
};

struct LinkGreeting {
    std::size_t part = 0;
    std::int64_t term = 0;
};

struct LinkPing {
    std::int64_t term = 0;
    std::int64_t number = 0;   // greater each time; comes back with the pong
    bool leads = false;        // else it asks for a vote
    bool resigns = false;      // it leads no longer
    bool wants_record = false; // the member's is newer
    std::optional<JobRecord> record{};
};

struct LinkPong {
    std::int64_t term = 0;
    std::int64_t number = 0; // of the ping
    bool leads = false;      // the same
    int attempt = 0;         // in which the part is
    JobRecord::Version version{};
    std::optional<JobRecord> record{};
};

// All end with a newline. What is parsed has policies of `parts` parts.
std::string link_greeting(const LinkGreeting& greeting);
Result<LinkGreeting> parse_link_greeting(std::string_view line, std::size_t parts);
std::string link_ping(const LinkPing& ping);
Result<LinkPing> parse_link_ping(std::string_view line, std::size_t parts);
std::string link_pong(const LinkPong& pong);
bool is_link_pong(std::string_view line); // and no event
Result<LinkPong> parse_link_pong(std::string_view line, std::size_t parts);

} // namespace dockdist::wire
