// The coroutine type of the program. One thread runs every task, so no task locks anything.
#pragma once

#include "shared/core/result.hpp"

#include <boost/asio/awaitable.hpp>

namespace dockdist {

template <class T>
using Task = boost::asio::awaitable<T>;

} // namespace dockdist
