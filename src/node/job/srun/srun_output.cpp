#include "node/job/srun/srun_output.hpp"

#include "shared/core/exit_codes.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_held_line = 64U << 10U; // what is longer goes out in pieces
constexpr std::size_t widest_number = 10;

std::string padded_number(std::string text, std::size_t width) {
    text.insert(0, width > text.size() ? width - text.size() : 0, '0');
    return text;
}

} // namespace

int srun_error(const std::string& message) {
    (void)write_all(STDERR_FILENO, "srun: error: " + message + "\n");
    return exit_codes::failed;
}

void srun_remark(const std::string& message) {
    (void)write_all(STDERR_FILENO, "srun: " + message + "\n");
}

std::string expand_output_name(std::string_view pattern, const OutputNames& names) {
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') {
            path += pattern[i];
            continue;
        }
        std::size_t width = 0;
        auto at = i + 1;
        for (; at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9'; ++at) {
            width = std::min(width * 10 + static_cast<std::size_t>(pattern[at] - '0'), widest_number);
        }
        const char letter = at < pattern.size() ? pattern[at] : '\0';
        switch (letter) {
        case 'j':
        case 'A':
            path += padded_number(names.job, width);
            break;
        case 'J':
            path += names.job + ".0";
            break;
        case 's':
            path += padded_number("0", width);
            break;
        case 't':
            path += padded_number(std::to_string(names.rank), width);
            break;
        case 'n':
            path += padded_number(std::to_string(names.node_rank), width);
            break;
        case 'N':
            path += names.node;
            break;
        case 'x':
            path += names.job_name;
            break;
        case 'u':
            path += names.user;
            break;
        case '%':
            path += '%';
            break;
        default:
            path += pattern.substr(i, at + 1 - i);
        }
        i = std::min(at, pattern.size() - 1);
    }
    return path;
}

SrunOutput::SrunOutput(const SrunOptions& options, int tasks)
    : options_(options), label_width_(std::to_string(std::max(tasks - 1, 0)).size()), tasks_(tasks) {}

std::string SrunOutput::label(int rank) const {
    auto number = std::to_string(rank);
    number.insert(0, label_width_ > number.size() ? label_width_ - number.size() : 0, ' ');
    return number + ": ";
}

Result<int> SrunOutput::file_of(const std::string& path, bool is_error) {
    if (const auto found = files_.find(path); found != files_.end()) {
        return found->second.get();
    }
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (options_.append ? 0 : O_TRUNC),
                   0666));
    if (!file.open()) {
        return system_error(std::string("Could not open ") + (is_error ? "stderr" : "stdout") + " file " +
                                printable(path),
                            errno);
    }
    return files_.emplace(path, std::move(file)).first->second.get();
}

Result<SrunOutput::Stream*> SrunOutput::stream_of(std::uint8_t stream, const OutputNames& names) {
    const auto [found, is_new] = streams_.try_emplace({names.rank, stream});
    auto& place = found->second;
    if (!is_new) {
        return &place;
    }
    const bool is_error = stream == 2;
    const bool has_own = is_error && !options_.error.empty();
    const auto& pattern = has_own ? options_.error : options_.output;
    const auto only = whole_number<int>(pattern);
    if (pattern == "none") {
        place.dropped = true;
    } else if (pattern.empty() || pattern == "all") {
        place.fd = is_error ? STDERR_FILENO : STDOUT_FILENO;
    } else if (only && *only >= 0 && *only < tasks_) {
        place.fd = is_error ? STDERR_FILENO : STDOUT_FILENO;
        place.dropped = names.rank != *only;
    } else if (const auto file = file_of(expand_output_name(pattern, names), has_own)) {
        place.fd = *file;
    } else {
        place.dropped = true;
        return file.error();
    }
    return &place;
}

Status SrunOutput::put(Stream& stream, int rank, std::string_view bytes) {
    std::string text;
    while (options_.label && !bytes.empty()) {
        const auto end = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
        text += (stream.in_line ? "" : label(rank)) + std::string(bytes.substr(0, end));
        stream.in_line = bytes[end - 1] != '\n';
        bytes.remove_prefix(end);
    }
    text += bytes;
    auto written = write_all(stream.fd, text);
    stream.dropped = !written;
    return written;
}

Status SrunOutput::write(std::uint8_t stream, const OutputNames& names, std::string_view bytes) {
    const auto found = stream_of(stream, names);
    TRY(found);
    auto& place = **found;
    if (place.dropped) {
        return ok;
    }
    if (options_.unbuffered) {
        return put(place, names.rank, bytes);
    }
    place.line += bytes;
    const auto end = place.line.rfind('\n');
    const auto ready = end != std::string::npos                ? end + 1
                       : place.line.size() > longest_held_line ? place.line.size()
                                                               : 0;
    if (ready == 0) {
        return ok;
    }
    const auto text = place.line.substr(0, ready);
    place.line.erase(0, ready);
    return put(place, names.rank, text);
}

Status SrunOutput::end() {
    Status first = ok;
    for (auto& [who, stream] : streams_) {
        if (!stream.line.empty() && !stream.dropped) {
            const auto text = std::exchange(stream.line, {});
            if (auto written = put(stream, who.first, options_.label ? text + "\n" : text);
                !written && first) {
                first = written;
            }
        }
    }
    return first;
}

} // namespace dockdist::node
