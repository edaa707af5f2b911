// A file or folder of a node, here. What the node says is not believed: nothing is written outside `into`.
#pragma once

#include "report/event.hpp"
#include "sync/node_stream.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct Fetched {
    bool not_found = false; // the node has no such path; the errors are empty then
    bool folder = false;
    std::uint64_t files = 0, bytes = 0;
    std::vector<std::string> left_out{}; // "NAME is …", as the node says
    Errors errors{};
};

// `into` is what the copy will be called; it is made together with the folders above it once the node has
// shown that it has something. An existing folder is written into, existing files are replaced, nothing is
// removed. Errors that end it: the connection, and a node that does not keep to the protocol.
Task<Result<Fetched>> fetch(NodeStream& node, std::string path, std::string into, Reporter& reporter);

} // namespace dockdist
