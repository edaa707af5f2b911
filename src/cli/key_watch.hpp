// Keys of the person's terminal, while something is shown there.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string_view>

namespace dockdist {

// Calls `work` each time the key is typed. Signals (Ctrl-C, Ctrl-Z) stay as they are. The terminal shows no
// typing meanwhile, and is put back at the end. Where stdin, stdout and stderr are not all a terminal, it
// watches nothing: somebody else may be reading (`run … | less`). In the background it keeps its hands off
// the terminal until it comes back.
class KeyWatch {
public:
    KeyWatch(const boost::asio::any_io_executor& executor, char key, std::function<void()> work);
    // Calls `work` with all that is typed, as it comes. stderr need be no terminal.
    KeyWatch(const boost::asio::any_io_executor& executor, std::function<void(std::string_view bytes)> work);
    ~KeyWatch();
    KeyWatch(const KeyWatch&) = delete;
    KeyWatch& operator=(const KeyWatch&) = delete;

    bool watches() const; // there is such a terminal

private:
    struct State;
    void begin(const boost::asio::any_io_executor& executor, std::function<void(std::string_view)> work);

    std::shared_ptr<State> state_{}; // null: no terminal
};

} // namespace dockdist
