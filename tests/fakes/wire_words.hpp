// Every kind of word that the client, the nodes and the relays say to each other, as the present code writes
// it, with most of its fields filled: what is recorded in tests/golden/wire, and what a fuzzer begins with.
#pragma once

#include <string>
#include <vector>

namespace dockdist {

struct WireWord {
    std::string reader{}; // in src/shared/wire, that takes it: "parse_job_event", "FrameDecoder"
    std::string bytes{};
};

std::vector<WireWord> wire_words();

// Inside: those of jobs, and those that are streams of bytes.
std::vector<WireWord> job_words();
std::vector<WireWord> relay_words();
std::vector<WireWord> stream_words();

} // namespace dockdist
