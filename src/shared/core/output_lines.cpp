#include "shared/core/output_lines.hpp"

#include "shared/core/trimmed.hpp"
#include "shared/core/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace dockdist {
namespace {

using Weight = OutputLine::Weight;

constexpr std::string_view gap_sign = "… ";
constexpr std::size_t longest_read = std::size_t{256} << 10U;
constexpr int most_about_a_cause = 4; // lines that follow it
constexpr int told_fatal_frames = 3;  // of Python's own, which begin with the innermost

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

template <class... Words>
bool has_any(std::string_view text, const Words&... words) {
    return ((text.find(words) != std::string_view::npos) || ...);
}

template <class... Words>
bool starts_with(std::string_view text, const Words&... words) {
    return (text.starts_with(words) || ...);
}

// The last state of a line that overwrites itself, without escape sequences.
std::string shown_line(std::string_view line) {
    while (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    line.remove_prefix(line.rfind('\r') + 1); // npos + 1 is 0
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\x1b') {
            text += line[i];
            continue;
        }
        const char kind = i + 1 < line.size() ? line[++i] : '\0';
        if (kind == '[') {
            do {
                ++i;
            } while (i < line.size() && (line[i] < '@' || line[i] > '~'));
        } else if (kind == ']') {
            do {
                ++i;
            } while (i < line.size() && line[i] != '\a' && line[i] != '\\');
        }
    }
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Bytes of a sign that boxes are drawn with, at the front.
std::size_t box_sign(std::string_view text) {
    const auto sign = decode_utf8(text);
    return sign.code_point >= 0x2500 && sign.code_point <= 0x257F ? sign.size : 0;
}

std::string_view without_box(std::string_view text) {
    for (auto size = box_sign(text); size > 0; size = box_sign(text)) {
        text = trimmed(text.substr(size));
    }
    while (text.size() >= 3 && box_sign(text.substr(text.size() - 3)) == 3) {
        text = trimmed(text.substr(0, text.size() - 3));
    }
    return text;
}

// "OutOfMemoryError" of "torch.cuda.OutOfMemoryError: …"; empty: there stands no name.
std::string_view exception_name(std::string_view text) {
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_word) - text.begin());
    const auto name = text.substr(0, end);
    return end < text.size() && text[end] != ':' ? std::string_view() : name.substr(name.rfind('.') + 1);
}

bool names_a_failure(std::string_view name) {
    constexpr std::array<std::string_view, 8> ends{"Error",   "Exception", "Interrupt", "Exit",
                                                   "Timeout", "Failure",   "Abort",     "NotFound"};
    return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

// A process was told to end, or another one has failed.
bool is_a_victims(std::string_view name) {
    constexpr std::array<std::string_view, 6> names{"KeyboardInterrupt",  "SignalException",
                                                    "SystemExit",         "ChildFailedError",
                                                    "CalledProcessError", "GeneratorExit"};
    return std::ranges::find(names, name) != names.end();
}

// torch's and glog's frames, gdb's, glibc's as Open MPI has them, Python's carets and other threads; rules.
bool is_frame(std::string_view bare) {
    const auto number_end = bare.find_first_not_of("0123456789", 1);
    const bool numbered = bare.starts_with('#') && number_end > 1 && number_end < bare.size();
    return bare.find_first_not_of("^~-=*_+# ") == std::string_view::npos ||
           starts_with(bare, "frame #", "[Previous line repeated", "@ ", "[0x", "<omitting python frames>",
                       "Extension modules:") ||
           (numbered && bare[number_end] == ' ') ||
           has_any(bare, "(most recent call first)", ") [0x", ")[0x");
}

bool is_launchers_word(std::string_view bare) {
    return starts_with(bare, "<NO_OTHER_FAILURES>", "Root Cause (first observed",
                       "error_file:", "exitcode  :", "time      :", "host      :", "rank      :",
                       "traceback : To enable traceback", "Primary job", "a non-zero exit code. Per user",
                       "mpirun detected that", "prterun detected that", "thus causing the job to be",
                       "the job to be terminated. The", "Process name: [",
                       "Exit code:    ", "This typically refers to a problem", "Please see the FAQ page") ||
           has_any(bare, "closing signal SIG", ":sigkill_handler]", "Main process received SIG", "NCCL INFO",
                   "destroy_process_group() was not called", "resource_tracker:", "BAD TERMINATION OF ONE",
                   "CLEANING UP REMAINING PROC", "YOU CAN IGNORE THE BELOW", "=   EXIT CODE:", "=   PID ");
}

bool is_fatal(std::string_view bare) {
    return starts_with(bare, "Fatal Python error:", "terminate called",
                       "what():", "panic: ", "Segmentation fault", "Killed", "Aborted", "Bus error",
                       "Illegal instruction") ||
           has_any(bare, "NCCL WARN", "CUDA error", "HIP error", "out of memory", "Out of memory",
                   "Signal: Segm", "core dumped", "panicked at", "Assertion `", "FATAL",
                   "Last error:", "Failing at address");
}

class Reader {
public:
    void read(std::string_view line);
    std::vector<OutputLine> lines{};

private:
    Weight weigh(std::string_view text);
    Weight weigh_traceback(std::string_view bare, std::size_t indent);
    Weight exception(std::string_view name);
    Weight cause();
    void begin_traceback(std::optional<std::size_t> indent);

    std::optional<std::size_t> traceback_{}; // indent of the header of that which is open
    std::optional<std::size_t> frame_{};     // its last one
    std::optional<std::size_t> own_frame_{}; // of no package
    std::optional<std::size_t> chain_{};     // its first exception
    bool linked_ = false;                    // the next one goes on with it
    int after_cause_ = 0;                    // lines that still belong to it
    int fatal_frames_ = 0;
};

void Reader::read(std::string_view whole) {
    OutputLine line{.text = shown_line(whole)};
    if (line.text.empty()) {
        return;
    }
    const std::string_view text = line.text;
    const auto begin = std::min(gap_sign.size(), text.size());
    (void)std::from_chars(text.data() + begin, text.data() + text.size(), line.stands_for);
    const bool gap = text.starts_with(gap_sign) && text == left_out_text(line.stands_for);
    line.gap = gap;
    line.stands_for = gap ? line.stands_for : 1;
    line.weight = gap ? Weight::noise : Weight::ordinary;
    line.chain = lines.size();
    lines.push_back(std::move(line));
    if (!gap) {
        const auto weight = weigh(without_tag(lines.back().text));
        lines.back().weight = weight;
    }
}

Weight Reader::cause() {
    after_cause_ = most_about_a_cause;
    return Weight::cause;
}

// A frame and its source: that where it was raised, and the last one of the user's own code.
Weight Reader::exception(std::string_view name) {
    auto& line = lines.back();
    line.exception = true;
    chain_ = line.chain = chain_.value_or(line.chain);
    const bool victims = is_a_victims(name);
    for (const auto& frame : {frame_, own_frame_}) {
        for (auto at = frame.value_or(lines.size()); !victims && at + 1 < lines.size() && at < *frame + 2;
             ++at) {
            lines[at].weight = Weight::near_cause;
        }
    }
    traceback_.reset();
    frame_.reset();
    own_frame_.reset();
    after_cause_ = 0;
    return victims ? Weight::noise : cause();
}

void Reader::begin_traceback(std::optional<std::size_t> indent) {
    traceback_ = indent;
    frame_.reset();
    own_frame_.reset();
    if (!std::exchange(linked_, false)) {
        chain_.reset();
    }
}

// What is indented by no more than the header is the exception.
Weight Reader::weigh_traceback(std::string_view bare, std::size_t indent) {
    const bool frame = starts_with(bare, "File \"", "> File \"");
    if (frame) {
        frame_ = lines.size() - 1;
        own_frame_ = has_any(bare, "-packages/", "/lib/python", "<frozen ") ? own_frame_ : frame_;
    }
    return frame || indent > *traceback_ || box_sign(bare) > 0 ? Weight::noise
                                                               : exception(exception_name(bare));
}

Weight Reader::weigh(std::string_view text) {
    const auto indent = std::min(text.find_first_not_of(' '), text.size());
    const auto inner = text.substr(indent);
    const bool boxed = box_sign(inner) > 0;
    const auto bare = without_box(inner);
    if (has_any(bare, "Traceback (most recent call last)")) {
        begin_traceback(boxed ? std::nullopt : std::optional(indent));
        return Weight::noise;
    }
    if (starts_with(bare, "During handling of the above", "The above exception was the direct")) {
        linked_ = true;
        return Weight::near_cause;
    }
    if (traceback_) {
        return weigh_traceback(inner, indent);
    }
    if (is_frame(bare) || is_launchers_word(bare)) {
        after_cause_ = 0;
        fatal_frames_ = bare.starts_with("Current thread") ? told_fatal_frames : 0;
        return Weight::noise;
    }
    if (bare.starts_with("❱")) {
        frame_ = lines.size() - 1;
        return Weight::near_cause;
    }
    if (boxed) {
        return Weight::noise;
    }
    if (const auto name = exception_name(bare); indent == 0 && names_a_failure(name)) {
        return exception(name);
    }
    if (is_fatal(bare)) {
        return cause();
    }
    if (bare.starts_with("File \"")) {
        return fatal_frames_-- > 0 ? Weight::near_cause : Weight::noise;
    }
    return after_cause_-- > 0 ? Weight::near_cause : Weight::ordinary;
}

} // namespace

std::string_view without_tag(std::string_view text) {
    constexpr std::size_t longest = 48;
    const bool round = text.starts_with('(');
    const auto end = text.substr(0, longest).find(round ? ") " : "]");
    if ((!round && !text.starts_with('[')) || end == std::string_view::npos) {
        return text;
    }
    const auto inner = text.substr(1, end - 1);
    auto rest = text.substr(end + 1);
    if (round) {
        return has_any(inner, " pid=") ? rest.substr(1) : text;
    }
    rest.remove_prefix(starts_with(rest, "<stdout>", "<stderr>") ? 8 : 0);
    const bool tag =
        rest.starts_with(':') && inner.find_last_of("0123456789") + 1 == inner.size() &&
        inner.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789,") == std::string_view::npos;
    rest.remove_prefix(tag ? 1 : 0);
    rest.remove_prefix(tag && rest.starts_with(' ') ? 1 : 0);
    return tag && !inner.empty() ? rest : text;
}

bool starts_with_box(std::string_view text) {
    return box_sign(text) > 0;
}

std::vector<OutputLine> read_output(std::string_view text) {
    text.remove_prefix(text.size() - std::min(text.size(), longest_read));
    Reader reader;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        reader.read(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(reader.lines);
}

std::string left_out_text(std::size_t lines) {
    return std::string(gap_sign) + std::to_string(lines) + (lines == 1 ? " line" : " lines");
}

} // namespace dockdist
