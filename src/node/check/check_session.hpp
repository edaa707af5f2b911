// The node's half of a check's conversation (shared/wire/check.hpp): `dockdist-init check`.
#pragma once

namespace dockdist::node {

// Answers questions from stdin on stdout until the client's stream ends. Exit code 0.
int run_check_session();

} // namespace dockdist::node
