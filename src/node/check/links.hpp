// A check's questions about the paths between nodes (shared/wire/check_links.hpp).
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/check_links.hpp"

namespace dockdist::node {

// This node listens (link_listener.hpp) until the session ends.
Result<wire::LinksListen::Answer> answer_links_listen(const wire::LinksListen& question);
Result<wire::LinksMeet::Answer> answer_links_meet(const wire::LinksMeet& question);
Result<wire::LinksSend::Answer> answer_links_send(const wire::LinksSend& question);

} // namespace dockdist::node
