// A task that a host or node is asked in, told to a Reporter for as long as it takes.
#pragma once

#include "client/async/task.hpp"
#include "client/report/step.hpp"

#include <optional>
#include <string>

namespace dockdist {

// `reporter` may be null.
template <class T>
Task<T> while_asked(Reporter* reporter, std::string subject, Task<T> task) {
    std::optional<Awaited> asked;
    if (reporter != nullptr) {
        asked.emplace(*reporter, std::move(subject));
    }
    co_return co_await std::move(task);
}

} // namespace dockdist
