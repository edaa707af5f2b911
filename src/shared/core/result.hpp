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

// Ends the function with the error of a Result (or of an expression that gives one) if it has failed. It is
// evaluated once; its value is still the caller's: `const auto port = parse_port(text); TRY(port);
// use(*port);`.
#define TRY(...)                                                                                             \
    do {                                                                                                     \
        if (const auto& result_to_try = (__VA_ARGS__); !result_to_try) {                                     \
            return result_to_try.error();                                                                    \
        }                                                                                                    \
    } while (false)

// The same in a coroutine.
#define CO_TRY(...)                                                                                          \
    do {                                                                                                     \
        if (const auto& result_to_try = (__VA_ARGS__); !result_to_try) {                                     \
            co_return result_to_try.error();                                                                 \
        }                                                                                                    \
    } while (false)
