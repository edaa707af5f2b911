// Text that crosses a border: to a terminal, a shell, an HTTP head, an environment; and numbers and addresses
// as people write them.
#include "shared/core/text.hpp"

#include "client/engine/http/message.hpp"
#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "client/report/line_splitter.hpp"
#include "client/report/repeated_tracebacks.hpp"
#include "client/sync/missing_file.hpp"
#include "fuzz/fuzz.hpp"
#include "node/job/srun/step_messages.hpp"
#include "node/session/session.hpp"
#include "node/session/ssh_target.hpp"
#include "node/system/environment.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/engine_address.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/telling_lines.hpp"
#include "shared/core/units.hpp"
#include "shared/core/utf8.hpp"
#include "shared/wire/frame.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace {

using namespace dockdist;

// Without its colours, which may pass.
std::string without_colours(std::string_view text) {
    std::string bare;
    while (!text.empty()) {
        const auto end =
            text.starts_with("\x1b[") ? text.find_first_not_of("0123456789;:", 2) : std::string_view::npos;
        if (end != std::string_view::npos && text[end] == 'm') {
            text.remove_prefix(end + 1);
        } else {
            bare += text.front();
            text.remove_prefix(1);
        }
    }
    return bare;
}

void shown(std::string_view text) {
    const auto plain = printable(text);
    fuzz::require(is_printable(plain), "what was made printable is");
    fuzz::require(fuzz::has_no_controls(safe_cell(text)), "no control character gets into a cell");
    fuzz::require(safe_cell(text).find('\t') == std::string::npos, "a cell has no tab");
    fuzz::require(fuzz::has_no_controls(safe_line(text, Colours::drop)),
                  "no control character gets into a line");
    const auto coloured = safe_line(text, Colours::keep);
    fuzz::require(fuzz::has_no_controls(without_colours(coloured)),
                  "nothing but colours gets into a coloured line");
    fuzz::require(coloured.find('\x1b') == std::string::npos || coloured.ends_with(sgr_reset),
                  "colours end with the line");
    fuzz::require(plain.size() <= 6 * text.size() && coloured.size() <= 6 * text.size() + sgr_reset.size(),
                  "text made visible is six times as long at most");
    const std::size_t columns = text.size() % 40;
    for (const bool unicode : {false, true}) {
        const auto cut = clipped(coloured, columns, unicode);
        fuzz::require(display_width(cut) <= columns, "what is cut to so many columns takes no more");
        fuzz::require(display_width(padded(cut, columns)) == columns, "padding fills the columns");
        fuzz::require(cut.find('\x1b') == std::string::npos || cut.ends_with(sgr_reset),
                      "colours end where a text is cut");
    }
    const auto limit = text.size() % 7;
    fuzz::require(utf8_prefix(text, limit) <= limit, "a prefix keeps to its limit");
    fuzz::require(!is_plain_ascii(text) || fuzz::has_no_controls(text, true), "plain ASCII is printable");
}

// Whatever an engine or a node says of itself stands in one of these.
void told(std::string_view text) {
    const auto said = fuzz::parts(text, 3);
    const Error error{ErrorKind::node, said[0], said[1], said[2]};
    for (const bool colour : {false, true}) {
        const OutputTraits traits{
            .tty = colour, .colour = colour, .unicode = colour, .columns = colour ? 20U : 0U};
        for (const auto& line : {error_text(error, traits), warning_text(said[0], said[1], traits),
                                 note_text(said[0], said[1], traits)}) {
            fuzz::require(fuzz::has_no_controls(without_colours(line), true),
                          "no message controls the terminal");
            fuzz::require(line.ends_with("\n"), "a message ends its line");
        }
    }
}

void lines(std::string_view text) {
    std::array<std::string, 2> seen;
    for (std::size_t way = 0; way < seen.size(); ++way) {
        LineSplitter splitter;
        const auto on_line = [&](const LinePart& part) {
            fuzz::require(part.text.size() <= LineSplitter::limit, "a part of a line keeps to its limit");
            fuzz::require(!part.plain || is_plain_ascii(part.text), "what is called plain is");
            fuzz::require(part.text.find('\n') == std::string_view::npos, "a line has no newline in it");
            seen[way] += std::string(part.continued ? "+" : "") + std::string(part.text) + "\n";
        };
        const auto feed = [&](std::string_view piece) { splitter.feed(piece, on_line); };
        if (way == 0) {
            feed(text);
        } else {
            fuzz::in_pieces(text, feed);
        }
        splitter.end(on_line);
    }
    fuzz::require_equal(seen[0], seen[1], "lines are the same however they are sliced");
}

// What a failed rank has written, as people and its node see it.
void failed(std::string_view text) {
    const auto told = telling_lines(text);
    fuzz::require(std::ranges::count(told.text, '\n') < 16 && told.text.size() <= 1600, "it is a screenful");
    fuzz::require(told.text.find('\x1b') == std::string::npos, "no escape sequence is told");
    fuzz::require_equal(telling_lines(told.text).text, told.text, "what fits is told as it is");
    for (const auto& path : missing_paths(text)) {
        const auto name = "/" + name_in_tree(path, "/w/sub", "/w") + "/";
        fuzz::require(name.find("/../") == std::string::npos, "a name stays in its tree");
    }
    RepeatedTracebacks repeated;
    RepeatedTracebacks::Held held;
    std::size_t lines = 0;
    std::size_t put = 0;
    const auto on_put = [&](std::string_view) { ++put; };
    for (const auto& line : split(text, '\n')) {
        ++lines;
        if (RepeatedTracebacks::concerns(held, line)) {
            repeated.take(held, "a", line, {}, on_put);
        } else {
            on_put(line);
        }
    }
    RepeatedTracebacks::release(held, on_put);
    fuzz::require(put == lines, "what one rank says is shown, line by line");
}

void quoted(std::string_view text) {
    const auto words = fuzz::parts(text, 3);
    if (text.find('\0') == std::string_view::npos || words[1].find('\0') == std::string::npos) {
        const auto back = node::split_words(shell_join(words));
        fuzz::require(back.has_value(), "what was quoted can be split again");
        fuzz::require(*back == words, "what was quoted is split into the same words");
    }
    if (const auto own = node::split_words(std::string(text))) {
        fuzz::require(node::split_words(shell_join(*own)) == own,
                      "words that were split can be quoted and split again");
    }
}

void variables(std::string_view text) {
    const auto both = fuzz::parts(text, 4);
    std::map<std::string, std::string> set;
    for (std::size_t i = 0; i < 2; ++i) {
        const auto& name = both[i];
        if (!name.empty() && name.find_first_of(std::string_view("=\0", 2)) == std::string::npos &&
            both[i + 1].find('\0') == std::string::npos) {
            set.insert_or_assign(name, both[i + 1]);
        }
    }
    if (const auto packed = node::pack_variables(set, {"GONE"})) {
        fuzz::require(is_plain_ascii(*packed) && packed->find_first_of("\n\t") == std::string::npos,
                      "packed variables are one line of printable ASCII");
        auto environment = node::Environment::from_block(std::string_view("GONE=1\0", 7));
        node::apply_packed(environment, *packed);
        for (const auto& [name, value] : set) {
            fuzz::require(environment.get(name) == value || name == "GONE",
                          "a packed variable arrives as it was");
        }
    }
    auto environment = node::Environment::from_block(text);
    node::apply_packed(environment, both[0]);
    const auto again = node::Environment::from_block(environment.block());
    fuzz::require(again.entries() == environment.entries(), "an environment is written as it is read");
}

void encoded(std::string_view text) {
    fuzz::require(from_base64(to_base64(text)) == text, "base64 is read as it is written");
    if (const auto bytes = from_base64(text)) {
        fuzz::require(bytes->size() <= text.size(), "base64 shrinks");
    }
    fuzz::require(to_hex(text).size() == 2 * text.size(), "hex takes two digits a byte");
    const auto safe = percent_encode(text);
    fuzz::require(is_plain_ascii(safe) && safe.find_first_of(" \n\t/?#&") == std::string::npos,
                  "an encoded word is one word");
    const auto said = fuzz::parts(text, 4);
    const HttpRequest request{
        .method = "GET", .target = said[0], .headers = {{said[1], said[2]}}, .content_type = said[3]};
    if (const auto head = request_head(request, said[3])) {
        fuzz::require(head->ends_with("\r\n\r\n") && head->find("\r\n\r\n") == head->size() - 4,
                      "a request is one head");
        fuzz::require(std::ranges::count(*head, '\n') <= 6 && std::ranges::count(*head, '\r') <= 6,
                      "no header brings another one");
    }
}

void read(std::string_view text) {
    if (const auto size = parse_size(text)) {
        fuzz::require(!format_size(*size).empty(), "a size can be shown");
    }
    if (const auto duration = parse_duration(text)) {
        fuzz::require(duration->count() >= 0, "no duration is negative");
        fuzz::require(parse_duration(flag_duration(*duration)) == duration,
                      "a duration is read as it is written");
        fuzz::require(!format_duration(*duration).empty() && !format_exact_duration(*duration).empty(),
                      "a duration can be shown");
    }
    if (const auto address = parse_engine_address(text)) {
        fuzz::require(!address->host.starts_with('-') && !address->user.starts_with('-'),
                      "nothing is read as an option");
        fuzz::require(
            std::ranges::none_of(address->url, [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
            "an address has no controls");
        fuzz::require(parse_engine_address(address->url) == *address, "an address is read again as it was");
    } else {
        fuzz::require(fuzz::has_no_controls(address.error().message + address.error().hint),
                      "an error has no controls");
    }
    (void)is_loopback(text);
    constexpr std::array<std::string_view, 4> candidates{"hosts", "image", "container", ""};
    (void)nearest(text.substr(0, 64), candidates);
    if (const auto names = expand_host_list(text)) {
        fuzz::require(names->size() <= 65536, "a host list is bounded");
        fuzz::require(expand_host_list(host_list(*names)) == names,
                      "names are listed as they can be read again");
    }
    (void)node::shell_argv("/bin/sh", std::string(text), text.size() % 2 == 0);
    for (const auto& both : {node::read_host_and_port(text), node::read_ssh_goal(text)}) {
        fuzz::require(!both || !both->host.empty(), "a host has a name");
    }
    if (const auto message = node::parse_step_message(text); !message) {
        fuzz::require(fuzz::has_no_controls(message.error().message), "an error has no controls");
    } else if (const auto frame = node::step_frame(*message); frame.size() > wire::frame_header_size) {
        fuzz::require(node::parse_step_message(frame.substr(wire::frame_header_size)).has_value(),
                      "a message of srun's is read as it is written");
    }
}

constexpr std::array<fuzz::Read, 8> kinds{shown, told, lines, quoted, variables, encoded, read, failed};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all{
        of_kind(0, "plain"),
        of_kind(0, "\x1b[1;31mred\x1b[0m \x1b[K\x1b[2A\x1b[?25l\x1b]0;t\a \xc2\x9b \xe2\x80\xae \xe6\xbc\xa2 "
                   "e\xcc\x81 \xff\t"),
        of_kind(1, of_parts({"node-0", "it \x1b[2J failed\nagain", "do \xe2\x80\xae that"})),
        of_kind(2, "10%\r20%\r\nnext\nlast"),
        of_kind(3, of_parts({"it's", "a b", "$HOME"})),
        of_kind(3, "sh -c 'a b' \"c\\\"d\" e\\ f"),
        of_kind(4, of_parts({"NAME", "va\nlue", "OTHER"})),
        of_kind(4, "A=1 B=x%20y -C"),
        of_kind(5, "YWJjZA=="),
        of_kind(7, "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/w/a.py\", line 1, in "
                   "f\n[rank3]:     g()\n"
                   "[rank3]: FileNotFoundError: 'data/x.bin'\n"),
        of_kind(7, "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n "
                   " File \"a\", line 1 in f\n"
                   "… 12 lines\nterminate called after throwing\n  what():  x\nframe #0: f() + 0x1\n"),
        of_kind(5, of_parts({"/v1.41/info?a=b", "X-Registry-Auth", "abc", "application/json"}))};
    for (const auto* text :
         {"64g", "1.5GiB", "1h30m", "250ms", "unix:///run/docker.sock", "tcp://10.0.0.1:2375",
          "ssh://user@[fe80::1]:22/run/docker.sock", "127.0.0.1", "::ffff:127.0.0.1", "a.localhost.",
          "node-[0-2,7,08-10],x[1-2]y[3-4]", "hostname h:22\nport 2222\n",
          R"({"type":"opening","step":"s","tasks":2,"ports":1})",
          R"({"type":"start","argv":["a"],"env":{"A":"1"},"first_rank":0,"world":2})"}) {
        all.push_back(of_kind(6, text));
    }
    return all;
}
