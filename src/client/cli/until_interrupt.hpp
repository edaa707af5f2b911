// For commands that Ctrl-C ends as it should: there is no error then.
#pragma once

#include "client/cli/context.hpp"

#include <boost/system/system_error.hpp>

#include <optional>

namespace dockdist {

// What the task has come to; nothing: somebody has left it by Ctrl-C.
template <class T>
Task<std::optional<T>> until_interrupt(const Context& context, Task<T> task) {
    try {
        co_return co_await std::move(task);
    } catch (const boost::system::system_error&) {
        if (context.interrupts->count() == 0) {
            throw;
        }
    }
    co_return std::nullopt;
}

// Of one that goes on until somebody leaves it.
inline Task<void> until_interrupt(const Context& context, Task<void> task) {
    try {
        co_await std::move(task);
    } catch (const boost::system::system_error&) {
        if (context.interrupts->count() == 0) {
            throw;
        }
    }
}

} // namespace dockdist
