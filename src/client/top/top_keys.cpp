#include "client/top/top_keys.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

using Kind = TopKey::Kind;

constexpr std::size_t longest_sequence = 16;
constexpr std::size_t longest_filter = 64;

constexpr std::array<std::pair<std::string_view, Kind>, 19> sequences{{{"[A", Kind::up},
                                                                       {"OA", Kind::up},
                                                                       {"[B", Kind::down},
                                                                       {"OB", Kind::down},
                                                                       {"[5~", Kind::page_up},
                                                                       {"[6~", Kind::page_down},
                                                                       {"[H", Kind::home},
                                                                       {"OH", Kind::home},
                                                                       {"[1~", Kind::home},
                                                                       {"[7~", Kind::home},
                                                                       {"[F", Kind::end},
                                                                       {"OF", Kind::end},
                                                                       {"[4~", Kind::end},
                                                                       {"[8~", Kind::end},
                                                                       {"[Z", Kind::back_tab},
                                                                       {"[C", Kind::right},
                                                                       {"OC", Kind::right},
                                                                       {"[D", Kind::left},
                                                                       {"OD", Kind::left}}};

void set_view(TopState& state, TopView view) {
    state.view = view;
    state.first = 0;
    state.skipped = 0;
}

void turn_view(TopState& state, std::size_t by) {
    set_view(state, top_views[(static_cast<std::size_t>(state.view) + by) % top_views.size()]);
}

// "As the file has them" stands before the first column.
void turn_sort(TopState& state, const std::vector<std::string>& columns, std::size_t by) {
    const auto found = std::ranges::find(columns, state.sort_title());
    const auto at = found == columns.end() ? 0 : static_cast<std::size_t>(found - columns.begin()) + 1;
    const auto next = (at + by) % (columns.size() + 1);
    state.sort_title() = next == 0 ? "" : columns[next - 1];
    state.first = 0;
}

void type(TopState& state, const TopKey& key) {
    switch (key.kind) {
    case Kind::character:
        if (state.filter.size() < longest_filter) {
            state.filter += key.character;
        }
        break;
    case Kind::backspace:
        if (!state.filter.empty()) {
            state.filter.pop_back();
        }
        break;
    case Kind::escape:
        state.filter.clear();
        state.typing = false;
        break;
    case Kind::enter:
        state.typing = false;
        break;
    default:
        return;
    }
    state.first = 0;
}

void command(TopState& state, char character, const std::vector<std::string>& columns) {
    switch (character) {
    case 'q':
        state.over = true;
        break;
    case 'n':
        return set_view(state, TopView::nodes);
    case 'g':
        return set_view(state, TopView::gpus);
    case 'j':
        return set_view(state, TopView::jobs);
    case 'r':
        return set_view(state, TopView::ranks);
    case 'f':
        return set_view(state, TopView::found);
    case 's':
        return turn_sort(state, columns, 1);
    case 'S':
        return turn_sort(state, columns, columns.size());
    case 'i':
        state.inverted = !state.inverted;
        break;
    case '/':
        state.typing = true;
        break;
    case '?':
        state.keys = true;
        break;
    default:
        break;
    }
}

} // namespace

std::vector<TopKey> TopKeyReader::read(std::string_view bytes) {
    rest_ += bytes;
    std::vector<TopKey> keys;
    std::string_view left = rest_;
    while (!left.empty()) {
        const char c = left.front();
        if (c == '\x1b' && left.size() > 1 && (left[1] == '[' || left[1] == 'O')) {
            const auto end = left.find_first_not_of("0123456789;", 2);
            if (end == std::string_view::npos && left.size() < longest_sequence) {
                break; // its rest comes
            }
            const auto size = end == std::string_view::npos ? left.size() : end + 1;
            const auto* const known = std::ranges::find(sequences, left.substr(1, size - 1),
                                                        &std::pair<std::string_view, Kind>::first);
            if (known != sequences.end()) {
                keys.push_back({.kind = known->second});
            }
            left.remove_prefix(size);
            continue;
        }
        left.remove_prefix(1);
        if (c == '\x1b') {
            keys.push_back({.kind = Kind::escape});
        } else if (c == '\r' || c == '\n') {
            keys.push_back({.kind = Kind::enter});
        } else if (c == '\t') {
            keys.push_back({.kind = Kind::tab});
        } else if (c == '\x7f' || c == '\b') {
            keys.push_back({.kind = Kind::backspace});
        } else if (c >= ' ' && c < '\x7f') {
            keys.push_back({.kind = Kind::character, .character = c});
        }
    }
    rest_ = std::string(left);
    return keys;
}

void press(TopState& state, const TopKey& key, const std::vector<std::string>& columns, std::size_t page) {
    const auto step = std::max<std::size_t>(page, 1);
    if (state.keys) {
        state.keys = false;
        state.over = key.kind == Kind::character && key.character == 'q';
        return;
    }
    switch (key.kind) {
    case Kind::up:
        state.first -= std::min<std::size_t>(state.first, 1);
        return;
    case Kind::down:
        ++state.first;
        return;
    case Kind::page_up:
        state.first -= std::min(state.first, step);
        return;
    case Kind::page_down:
        state.first += step;
        return;
    case Kind::left:
        state.skipped -= std::min<std::size_t>(state.skipped, 1);
        return;
    case Kind::right:
        ++state.skipped;
        return;
    case Kind::home:
        state.first = 0;
        return;
    case Kind::end:
        state.first = most_first_row;
        return;
    default:
        break;
    }
    if (state.typing) {
        return type(state, key);
    }
    switch (key.kind) {
    case Kind::tab:
        return turn_view(state, 1);
    case Kind::back_tab:
        return turn_view(state, top_views.size() - 1);
    case Kind::escape:
        state.filter.clear();
        return;
    case Kind::character:
        if (key.character == ' ') { // as in pagers
            state.first += step;
            return;
        }
        return command(state, key.character, columns);
    default:
        return;
    }
}

} // namespace dockdist
