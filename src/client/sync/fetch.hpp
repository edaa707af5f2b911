// A file or folder of a node, here. What the node says is not believed: nothing is written outside its place,
// nor through a link, whether the node has sent it or it stood there before.
#pragma once

#include "client/report/event.hpp"
#include "client/sync/node_stream.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Where a copy goes.
struct FetchPlace {
    std::string root{}; // what the user has named: links in it are followed
    std::string name{}; // below it, no link is followed; empty: what a folder holds goes into the root itself
};

struct Fetched {
    bool not_found = false; // the node has no such path; the errors are empty then
    bool folder = false;
    std::uint64_t files = 0, bytes = 0;
    std::vector<std::string> left_out{}; // "NAME is …", as the node says; the last tells how many more
    Errors errors{};
};

// The place is made together with the folders above it once the node has shown that it has something. An
// existing folder is written into and keeps its mode, existing files and links are replaced, nothing else is,
// and nothing is removed. Modes are the node's, less what this process's umask takes. Errors that end it: the
// connection, and a node that does not keep to the protocol, which includes sending a name twice.
Task<Result<Fetched>> fetch(NodeStream& node, std::string path, FetchPlace into, Reporter& reporter);

} // namespace dockdist
