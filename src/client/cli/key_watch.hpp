// Keys of the person's terminal, while something is shown there.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace dockdist {

// A key that counts where it stands alone on a line, and Enter follows: one in a word that is typed ahead for
// the shell does nothing. Pure.
class KeyLine {
public:
    explicit KeyLine(char key) : key_(key) {}
    enum class Heard {
        nothing,
        pressed, // it stands there alone, and nothing has been typed behind it
        entered,
    };
    Heard hear(std::string_view typed);

private:
    char key_;
    std::string line_{}; // so far, as much of it as matters
};

// What is typed, as it comes. Signals (Ctrl-C, Ctrl-Z) stay as they are. The terminal shows no typing
// meanwhile, and is put back at the end. Where stdin and stdout are not both a terminal, it watches nothing:
// somebody else may be reading (`run … | less`). In the background it keeps its hands off the terminal until
// it comes back.
class KeyWatch {
public:
    // For a KeyLine: `pressed`, then `entered` or nothing. stderr has to be a terminal too.
    KeyWatch(const boost::asio::any_io_executor& executor, char key, std::function<void()> pressed,
             std::function<void()> entered);
    // Calls `work` with all of it. stderr need be no terminal.
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
