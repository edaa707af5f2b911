// A check's questions about the paths between nodes, as the job's sockets take them.
//
//   {"ask":"links-listen","token":T}      {"port":N}: this node listens (link_listener.hpp) until the session
//   ends
//   {"ask":"links-meet","token":T,"peers":[{"node","address","port"}…]}
//                                         {"links":[{"node","outcome","latency_us","message"}…]}, in any
//                                         order; outcome is a word of LinkOutcome, latency_us the median of a
//                                         small round trip where there was one
//   {"ask":"links-send","token":T,"address","port","streams","ms"}
//                                         {"bytes_per_second","segments","sent_again"}: what the peer has
//                                         acknowledged in the time, once the streams had gathered speed
#pragma once

#include "wire/check.hpp"

namespace dockdist::node {

Result<wire::CheckAnswer> answer_links_listen(const nlohmann::json& question);
Result<wire::CheckAnswer> answer_links_meet(const nlohmann::json& question);
Result<wire::CheckAnswer> answer_links_send(const nlohmann::json& question);

} // namespace dockdist::node
