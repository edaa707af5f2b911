#include "client/report/job_output.hpp"

#include "client/report/display_text.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unistd.h>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t buffer_size = std::size_t{256} * 1024;
constexpr auto redraw_after_lines = std::chrono::milliseconds(33);
constexpr auto redraw = std::chrono::milliseconds(100);

constexpr std::string_view source_colours[] = {"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m",
                                               "\x1b[96m", "\x1b[93m", "\x1b[92m", "\x1b[95m", "\x1b[94m"};

} // namespace

// One descriptor: its buffer, and the live lines at its end where it is a terminal.
class JobOutput::Channel {
public:
    Channel(int fd, const OutputTraits& traits, const JobOutputOptions& options, OutputSink& sink)
        : fd_(fd), traits_(traits), options_(options), sink_(sink), buffer_(new char[buffer_size]) {}

    const OutputTraits& traits() const { return traits_; }
    TerminalSize size() const { return options_.size(fd_); }

    void put_line(std::string_view prefix, const LinePart& part) {
        make_room_for_lines();
        put(prefix);
        if (part.plain || is_printable(part.text)) {
            put(part.text);
        } else {
            put(safe_line(part.text, traits_.colour ? Colours::keep : Colours::drop));
        }
        put("\n");
    }

    void put_lines(std::string_view lines) {
        make_room_for_lines();
        put(lines);
    }

    void put(std::string_view bytes) {
        if (bytes.size() > buffer_size - used_) {
            write_out();
            if (bytes.size() > buffer_size) {
                write_through(bytes);
                return;
            }
        }
        std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
        used_ += bytes.size();
    }

    void write_out() {
        if (used_ > 0) {
            write_through({buffer_.get(), used_});
            used_ = 0;
        }
    }

    // Whether it is time to draw the live lines again.
    bool redraw_due() const {
        return options_.now() - drawn_ >= (region_.visible() ? redraw : redraw_after_lines);
    }

    void draw(const std::vector<std::string>& lines) {
        if (!lines.empty()) {
            drawn_ = options_.now();
            put(region_.draw(lines, size(), traits_.unicode));
        } else if (region_.visible()) {
            put(region_.erase(size()));
        }
    }

private:
    // Lines and sequences are put whole, so that none is cut in two here.
    void write_through(std::string_view bytes) {
        sink_.write(fd_, options_.raw ? Displayable::raw(bytes) : Displayable::drawn(bytes));
    }

    void make_room_for_lines() {
        if (region_.visible()) {
            put(region_.erase(size()));
        }
    }

    int fd_;
    OutputTraits traits_;
    const JobOutputOptions& options_;
    OutputSink& sink_;
    std::unique_ptr<char[]> buffer_;
    std::size_t used_ = 0;
    LiveRegion region_{};
    std::chrono::steady_clock::time_point drawn_{};
};

JobOutputOptions probe_job_output() {
    JobOutputOptions options;
    options.out = probe_output(STDOUT_FILENO);
    options.err = probe_output(STDERR_FILENO);
    options.merged = same_output(STDOUT_FILENO, STDERR_FILENO);
    return options;
}

JobOutput::JobOutput(JobOutputOptions options, OutputSink& sink) : options_(std::move(options)) {
    channels_[0] = std::make_unique<Channel>(STDOUT_FILENO, options_.out, options_, sink);
    if (!options_.merged) {
        channels_[1] = std::make_unique<Channel>(STDERR_FILENO, options_.err, options_, sink);
    }
}

JobOutput::~JobOutput() {
    finish();
}

JobOutput::Channel& JobOutput::channel(JobStream stream) const {
    return stream == JobStream::err && channels_[1] ? *channels_[1] : *channels_[0];
}

void JobOutput::make_prefix(Source source) {
    auto& member = members_[source];
    if (!options_.prefix) {
        return;
    }
    const auto colour = source_colours[source % std::size(source_colours)];
    const std::string gap(label_width_ - display_width(member.label), ' ');
    for (const auto stream : {JobStream::out, JobStream::err}) {
        std::string tag = "[" + member.label + "]";
        if (channel(stream).traits().colour) {
            tag = std::string(colour) + tag + std::string(sgr_reset);
        }
        const auto index = static_cast<std::size_t>(stream);
        member.prefixes[index] = tag + " " + gap;
        member.continued_prefixes[index] = tag + "+" + gap;
    }
}

JobOutput::Source JobOutput::add_source(std::string_view label) {
    members_.push_back(Member{.label = safe_cell(label)});
    const auto width = display_width(members_.back().label);
    const bool wider = width > label_width_;
    label_width_ = std::max(label_width_, width);
    for (Source source = wider ? 0 : members_.size() - 1; source < members_.size(); ++source) {
        make_prefix(source);
    }
    return members_.size() - 1;
}

void JobOutput::write(Source source, JobStream stream, std::string_view bytes) {
    auto& output = channel(stream);
    if (options_.raw) {
        output.put(bytes);
        return;
    }
    const auto index = static_cast<std::size_t>(stream);
    members_.at(source).streams[index].feed(bytes, [&](const LinePart& part) { put(source, index, part); });
}

void JobOutput::put(Source source, std::size_t index, const LinePart& part) {
    auto& member = members_[source];
    auto& output = channel(static_cast<JobStream>(index));
    auto& held = member.held[index];
    if (part.continued) {
        release(source, index);
        output.put_line(member.continued_prefixes[index], part);
    } else if (options_.folds && RepeatedTracebacks::concerns(held, part.text)) {
        repeated_.take(held, member.label, part.text, options_.now(), [&](std::string_view line) {
            output.put_line(member.prefixes[index], {.text = line});
        });
    } else {
        output.put_line(member.prefixes[index], part);
    }
}

void JobOutput::release(Source source, std::size_t index) {
    auto& member = members_[source];
    RepeatedTracebacks::release(member.held[index], [&](std::string_view line) {
        channel(static_cast<JobStream>(index)).put_line(member.prefixes[index], {.text = line});
    });
}

void JobOutput::end(Source source) {
    auto& member = members_.at(source);
    for (const auto stream : {JobStream::out, JobStream::err}) {
        const auto index = static_cast<std::size_t>(stream);
        member.streams[index].end([&](const LinePart& part) { put(source, index, part); });
        release(source, index);
    }
}

void JobOutput::message(std::string_view lines) {
    channel(JobStream::err).put_lines(lines);
}

std::vector<std::string> JobOutput::live_lines(const Channel& output) const {
    std::vector<std::string> lines;
    for (const auto& member : members_) {
        for (std::size_t index = 0; index < member.streams.size(); ++index) {
            const auto live = member.streams[index].live();
            if (live && &channel(static_cast<JobStream>(index)) == &output) {
                auto text = safe_line(*live, output.traits().colour ? Colours::keep : Colours::drop);
                std::ranges::replace(text, '\t', ' ');
                lines.push_back(member.prefixes[index] + text);
            }
        }
    }
    const auto room = std::max<std::size_t>(1, LiveRegion::max_lines(output.size()) / 2);
    if (lines.size() > room) {
        const auto hidden = lines.size() - room + 1;
        lines.resize(room - 1);
        lines.push_back(std::string(output.traits().unicode ? "…" : "...") + " and " +
                        std::to_string(hidden) + " more");
    }
    return lines;
}

void JobOutput::flush() {
    for (Source source = 0; source < members_.size(); ++source) {
        for (std::size_t index = 0; index < members_[source].held.size(); ++index) {
            if (RepeatedTracebacks::waits_long(members_[source].held[index], options_.now())) {
                release(source, index);
            }
        }
    }
    for (auto& output : channels_) {
        if (!output) {
            continue;
        }
        if (output->traits().tty && !options_.raw && output->redraw_due()) {
            output->draw(live_lines(*output));
        }
        output->write_out();
    }
}

void JobOutput::finish() {
    for (Source source = 0; source < members_.size(); ++source) {
        end(source);
    }
    for (auto& output : channels_) {
        if (output) {
            output->draw({});
            output->write_out();
        }
    }
}

} // namespace dockdist
