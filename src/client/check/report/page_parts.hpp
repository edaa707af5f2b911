// The parts of the page (client/check/report/report_page.hpp) that no other page has, each a piece of HTML;
// empty where there is nothing to show.
#pragma once

#include "client/check/report/report_tables.hpp"
#include "client/report/page/page.hpp"

#include <string>

namespace dockdist {

// A heat map: a cell's shade is its measurement beside the best one; a slow one has a frame of its own.
std::string page_matrix(const Matrix& matrix);

// A chart an operation: bus bandwidth over the size, of single nodes (from the slowest to the fastest), of
// pairs and of all nodes.
std::string page_curves(const CheckReport& report);

} // namespace dockdist
