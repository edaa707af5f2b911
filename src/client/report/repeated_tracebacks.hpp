// Tracebacks of Python that several ranks of a job write, each line of them the same but for what tells ranks
// from each other: the first one is shown, of the others a line that names it. Whole lines in, whole lines
// out. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class RepeatedTracebacks {
public:
    using Now = std::chrono::steady_clock::time_point;
    using Put = std::function<void(std::string_view line)>;

    // Of one source's stream: lines of a traceback that has not ended wait in `held`.
    struct Held {
        std::vector<std::string> lines{};
        std::size_t indent = 0; // of its header
        bool boxed = false;
        Now since{};
    };

    // Whether the line is of a traceback, or one is held; else the caller puts it.
    static bool concerns(const Held& held, std::string_view line);
    void take(Held& held, const std::string& label, std::string_view line, Now now,
              const Put& put); // it does
    // What is held as it is: nothing more comes, or the rest takes long.
    static void release(Held& held, const Put& put);
    static bool waits_long(const Held& held, Now now);

private:
    std::map<std::string, std::string> first_{}; // its lines, without what is each rank's own → whose it was
};

} // namespace dockdist
