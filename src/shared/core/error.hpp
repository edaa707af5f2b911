// One error type for the whole program: an error is a value that tells what failed, where, and what to do
// next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

enum class ErrorKind {
    usage,       // the command line is wrong: exit code 2
    config,      // cluster.yaml is wrong: exit code 2
    unreachable, // no connection to a host
    timeout,     // a deadline passed
    protocol,    // an answer that is not of the protocol
    engine,      // the engine refused, with its own message
    not_found,   // the thing asked for is not there (404)
    conflict,    // something of that name is there already, or another state was expected (409)
    node,        // something inside a node failed
    job,         // a job failed
    locked,      // another client is at work on the same cluster
    busy,        // others have what was asked for: exit code 75
    interrupted, // Ctrl-C: exit code 130
    internal,    // a bug
};

std::string_view to_string(ErrorKind kind);

struct Error {
    ErrorKind kind = ErrorKind::internal;
    std::string where{};   // a host or node ("node-1 (tcp://10.0.0.2:2375)") or a place in a file
                           // ("cluster.yaml:3:5"); may be empty
    std::string message{}; // what failed, in one sentence without a full stop
    std::string hint{};    // what to do next; may be empty

    bool operator==(const Error&) const = default;
};

using Errors = std::vector<Error>;

// "where: message" and, when there is a hint, a second line "  hint".
std::string to_text(const Error& error);

} // namespace dockdist
