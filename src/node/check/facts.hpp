// The question `facts`: each part of the answer is found in a process of its own, all at the same time.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/check_facts.hpp"

namespace dockdist::node {

Result<wire::NodeFacts> answer_facts(const wire::FactsQuestion& question);

} // namespace dockdist::node
