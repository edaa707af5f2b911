// What the fuzz targets share. A target is one file of this folder: it defines fuzz::one_input and
// fuzz::seeds, and is called as its file is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuzz {

// One input. It ends the program (see require) where what the code promises does not hold.
void one_input(std::string_view input);

// What the fuzzer begins with: sound inputs of every kind. Written anew at each start, so they are made by
// the code that writes such texts, or read from what the tests have recorded.
std::vector<std::string> seeds();

// Ends the program, and so finds the input guilty, where a promise is broken.
void require(bool kept, std::string_view promise);
// The same, and shows both.
void require_equal(std::string_view one, std::string_view other, std::string_view promise);

// For targets with kinds of inputs: the first byte tells the kind. A letter from 'a' on, so that people can
// read it.
struct Kinded {
    std::size_t kind = 0; // below `kinds`
    std::string_view rest{};
};
Kinded kinded(std::string_view input, std::size_t kinds);
using Read = void (*)(std::string_view rest);
void by_kind(std::string_view input, std::span<const Read> kinds);
std::string of_kind(std::size_t kind, std::string_view rest);

// The parts of an input that is made of several texts: a NUL and a byte 1 stand between them.
inline constexpr std::string_view part_end{"\0\1", 2};
std::vector<std::string> parts(std::string_view input, std::size_t count); // as many; missing ones are empty
std::string of_parts(const std::vector<std::string>& parts);

// Numbers off the front of an input, 0 when nothing is left: for targets that build a sequence of calls.
class Choices {
public:
    explicit Choices(std::string_view input) : rest_(input) {}
    std::size_t below(std::size_t limit);                      // one byte
    std::string_view text();                                   // as many bytes as the next byte says
    std::string path(std::span<const std::string_view> words); // one of them, or two with a slash between
    bool empty() const { return rest_.empty(); }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

// Feeds a text to something in the pieces that its own bytes choose, so that the same input has the same
// pieces.
template <class Feed>
void in_pieces(std::string_view text, Feed feed) {
    std::size_t state = text.size() * 2654435761U;
    while (!text.empty()) {
        state =
            state * 6364136223846793005U + 1442695040888963407U + static_cast<unsigned char>(text.front());
        const auto size = std::min<std::size_t>(text.size(), 1 + (state >> 33U) % 23);
        feed(text.substr(0, size));
        text.remove_prefix(size);
    }
}

// Whether nothing in it could control a terminal but what is allowed: newlines, tabs.
bool has_no_controls(std::string_view text, bool newlines = false);

std::string read_file(const std::string& path); // "" when it is not there
// The contents of the files below that folder of the source whose paths hold `named`, sorted by path.
std::vector<std::string> recorded_files(const std::string& folder, std::string_view named = "");

} // namespace fuzz
