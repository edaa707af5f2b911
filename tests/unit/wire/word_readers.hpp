// The readers of src/shared/wire by their names, and which kinds of words they have come across.
#pragma once

#include "shared/core/result.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace dockdist::testing {

// "JobEvent::Type::started", and of a check's questions "ask facts", "answer facts".
using KindsSeen = std::set<std::string>;
using WordReader = std::function<Status(std::string_view bytes, KindsSeen& seen)>;

// "parse_job_event" takes one word, "FrameDecoder" a stream of them.
const std::map<std::string, WordReader>& word_readers();

// By the name of each enumeration of the words, "JobEvent::Type": its enumerators.
const std::map<std::string, KindsSeen>& word_kinds();

} // namespace dockdist::testing
