// What a service has to answer before it counts as ready: JobPolicy::ready.
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dockdist::wire {

// `http://:PORT[/PATH]`: a GET of it that is answered with 2xx. `tcp://:PORT`:
// a connection. There is no host: the job's first node asks itself.
struct ReadyProbe {
    bool http = false;
    std::uint16_t port = 0;
    std::string path{}; // of http: from its '/' on

    // Under which the service is reached from elsewhere: "http://10.0.0.1:8000".
    std::string address(const std::string& node) const;
    // As it was asked for: "http://:8000/health".
    std::string text() const;
};
// ErrorKind::usage.
Result<ReadyProbe> parse_ready_probe(std::string_view text);

// Pure: the status of an answer that begins with `bytes`; 0: its first line is
// not whole yet, -1: it is no answer of HTTP/1.
int http_status(std::string_view bytes);

} // namespace dockdist::wire
