// What a failed connection means for a person.
#pragma once

#include "core/engine_address.hpp"
#include "core/error.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>

namespace dockdist {

Error connect_error(const EngineAddress& address, const boost::system::error_code& error);
Error connect_timeout_error(const EngineAddress& address, std::chrono::milliseconds limit);
Error stream_error(const boost::system::error_code& error); // of an established stream

} // namespace dockdist
