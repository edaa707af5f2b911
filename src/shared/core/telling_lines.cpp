#include "shared/core/telling_lines.hpp"

#include "shared/core/output_lines.hpp"
#include "shared/core/utf8.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace dockdist {
namespace {

using Weight = OutputLine::Weight;

constexpr std::size_t around_a_cause = 12;
constexpr int least_of_the_end = 3;
constexpr int most_more_causes = 3;
constexpr int no_limit = 1 << 30;
constexpr std::size_t gap_bytes = 16;
constexpr std::size_t widest_line = 480;

// Both its ends.
std::string cut(const std::string& text, std::size_t width) {
    if (text.size() <= width) {
        return text;
    }
    const auto head = utf8_prefix(text, width * 3 / 5);
    auto tail = text.size() - width * 2 / 5;
    while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xC0U) == 0x80U) {
        ++tail;
    }
    return text.substr(0, head) + " … " + text.substr(tail);
}

class Choice {
public:
    Choice(const std::vector<OutputLine>& lines, const Screenful& most)
        : lines_(lines), most_(most), width_(std::min(widest_line, most.bytes / 3)), chosen_(lines.size()) {}

    bool take_all();
    std::optional<std::size_t> last_cause(bool exception) const;
    void take_cause(std::size_t at);
    // From the end on, of at least this weight.
    void take_end(Weight least, int count);
    void take_single();
    TellingLines told() const;

private:
    bool take(std::size_t at);
    bool fits() const;

    const std::vector<OutputLine>& lines_;
    Screenful most_;
    std::size_t width_;
    std::vector<bool> chosen_;
};

bool Choice::fits() const {
    std::size_t bytes = 0;
    std::size_t count = 0;
    bool in_gap = false;
    for (std::size_t at = 0; at < lines_.size(); ++at) {
        const bool gap = !chosen_[at];
        count += gap && in_gap ? 0 : 1;
        bytes += !gap ? std::min(lines_[at].text.size(), width_ + gap_bytes) + 1 : in_gap ? 0 : gap_bytes;
        in_gap = gap;
    }
    return count <= most_.lines && bytes <= most_.bytes;
}

bool Choice::take(std::size_t at) {
    if (!chosen_[at]) {
        chosen_[at] = true;
        chosen_[at] = fits();
    }
    return chosen_[at];
}

bool Choice::take_all() {
    width_ = most_.bytes;
    chosen_.assign(lines_.size(), true);
    if (fits()) {
        return true;
    }
    width_ = std::min(widest_line, most_.bytes / 3);
    chosen_.assign(lines_.size(), false);
    return false;
}

std::optional<std::size_t> Choice::last_cause(bool exception) const {
    for (auto at = lines_.size(); at-- > 0;) {
        if (lines_[at].weight == Weight::cause && (!exception || lines_[at].exception)) {
            return at;
        }
    }
    return std::nullopt;
}

// With the lines about it, and the exception that it followed from.
void Choice::take_cause(std::size_t at) {
    take(at);
    if (lines_[at].exception && lines_[lines_[at].chain].weight == Weight::cause) {
        take(lines_[at].chain);
    }
    const auto begin = at - std::min(at, around_a_cause);
    for (auto near = at; near > begin && lines_[near - 1].weight != Weight::cause; --near) {
        if (lines_[near - 1].weight == Weight::near_cause) {
            take(near - 1);
        }
    }
    const auto end = std::min(lines_.size(), at + around_a_cause);
    for (auto near = at + 1; near < end && lines_[near].weight != Weight::cause; ++near) {
        if (lines_[near].weight == Weight::near_cause) {
            take(near);
        }
    }
}

void Choice::take_end(Weight least, int count) {
    for (auto at = lines_.size(); count > 0 && at-- > 0;) {
        if (lines_[at].weight >= least && !take(at)) {
            return;
        }
        count -= lines_[at].weight >= least ? 1 : 0;
    }
}

// What takes the room of the line that says that it is missing.
void Choice::take_single() {
    for (std::size_t at = 0; at < lines_.size(); ++at) {
        if ((at == 0 || chosen_[at - 1]) && (at + 1 == lines_.size() || chosen_[at + 1])) {
            take(at);
        }
    }
}

TellingLines Choice::told() const {
    TellingLines told;
    std::size_t gap = 0;
    const auto put = [&told](const std::string& line) {
        told.text += (told.text.empty() ? "" : "\n") + line;
    };
    const auto put_gap = [&] {
        if (gap > 0) {
            put(left_out_text(gap));
        }
        told.left_out += std::exchange(gap, 0);
    };
    for (std::size_t at = 0; at < lines_.size(); ++at) {
        if (!chosen_[at]) {
            gap += lines_[at].stands_for;
            continue;
        }
        put_gap();
        told.left_out += lines_[at].gap ? lines_[at].stands_for : 0;
        put(cut(lines_[at].text, width_));
    }
    put_gap();
    return told;
}

} // namespace

TellingLines telling_lines(std::string_view from, Screenful most) {
    const auto lines = read_output(from);
    Choice choice(lines, most);
    if (choice.take_all()) {
        return choice.told();
    }
    const auto cause = choice.last_cause(false);
    if (const auto exception = choice.last_cause(true)) {
        choice.take_cause(*exception);
    }
    if (cause) {
        choice.take_cause(*cause);
    }
    choice.take_end(Weight::ordinary, least_of_the_end);
    choice.take_end(Weight::cause, most_more_causes);
    choice.take_end(Weight::ordinary, no_limit);
    if (!cause) {
        choice.take_end(Weight::noise, no_limit);
    }
    choice.take_single();
    return choice.told();
}

} // namespace dockdist
