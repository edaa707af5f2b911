// Result<T>: a T or an Error. Exceptions are for cancellation and bugs only.
#pragma once

#include "shared/core/error.hpp"

#include <boost/system/result.hpp>

#include <stdexcept>

namespace dockdist {

// Found by argument-dependent lookup when value() is called on an error, which is a bug of the caller.
[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
    throw std::logic_error("value() of a failed Result: " + to_text(error));
}

template <class T>
using Result = boost::system::result<T, Error>;

// A Result without a value: `return ok;`.
struct Ok {};
inline constexpr Ok ok{};
using Status = Result<Ok>;

} // namespace dockdist
