// The screen of `dockdist top`. Pure.
#pragma once

#include "client/report/output.hpp"
#include "client/top/top_keys.hpp"
#include "client/top/top_model.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

struct TopScreen {
    std::vector<std::string> lines{};        // as many as the terminal shows, each no wider; coloured
    std::vector<std::string> sort_columns{}; // by which the view may be sorted
    std::size_t page = 1;                    // rows that fit
    std::size_t first = 0;                   // TopState::first, where there are so many rows
    std::size_t skipped = 0;                 // TopState::skipped, where there are so many columns
};
TopScreen top_screen(const TopModel& model, const TopState& state, TerminalSize size,
                     const OutputTraits& output);

// Sentences: who does not answer, then what stands out.
std::vector<std::string> top_notes(const TopModel& model);

// Out of a terminal: the whole table of the view, and the findings below it.
std::string top_text(const TopModel& model, TopView view, const OutputTraits& output);

} // namespace dockdist
