#include "client/report/fold_errors.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/telling_lines.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t least_alike = 4;
constexpr std::size_t most_errors = 20;
constexpr Screenful a_screen;
constexpr std::size_t widest_folded = 72;
constexpr std::string_view all_there = "-o json shows all";
constexpr std::string_view own_place = "…"; // stands for what each has of its own

// "node-0 (ssh://ops@10.0.0.1)", "node-0 on a (tcp://10.0.0.1:2375)", "node-0".
struct Subject {
    std::string name{};
    bool node = false;
    std::vector<std::string> own{}; // what its messages may say that no other's does; the longest first
};

std::optional<Subject> subject_of(const std::string& where) {
    const auto end = std::min(where.find(' '), where.size());
    Subject subject{.name = where.substr(0, end)};
    if (!is_plain_name(subject.name)) {
        return std::nullopt;
    }
    std::string rest = where.substr(end);
    if (rest.starts_with(" on ")) {
        subject.node = true;
        rest.erase(0, 4);
        const auto host = std::min(rest.find(' '), rest.size());
        subject.own.push_back(rest.substr(0, host));
        rest.erase(0, host);
    }
    if (!rest.empty() && !(rest.starts_with(" (") && rest.ends_with(')'))) {
        return std::nullopt;
    }
    if (!rest.empty()) {
        const auto url = rest.substr(2, rest.size() - 3);
        subject.own.push_back(url);
        const auto begin = url.find("://");
        auto machine = begin == std::string::npos ? std::string() : url.substr(begin + 3);
        machine = machine.substr(0, machine.find('/'));
        subject.own.push_back(machine); // user, host, port
        machine = machine.substr(machine.rfind('@') + 1);
        subject.own.push_back(machine);
        subject.own.push_back(machine.substr(0, machine.rfind(':')));
    }
    subject.own.push_back(subject.name);
    std::erase(subject.own, "");
    std::ranges::sort(subject.own, std::ranges::greater{},
                      [](const std::string& word) { return std::pair(word.size(), std::string_view(word)); });
    return subject;
}

bool goes_on(std::string_view text, std::size_t at) {
    const char c = at < text.size() ? text[at] : ' ';
    const auto is_part = [](char sign) {
        return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9');
    };
    const bool joins = c == '-' || c == '.' || c == '_';
    return is_part(c) || (joins && at + 1 < text.size() && is_part(text[at + 1]));
}

// `text` with a own_place where it names its own host.
std::string without(std::string text, const std::vector<std::string>& own) {
    for (const auto& word : own) {
        for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
            const bool whole = !goes_on(text, at + word.size()) && (at == 0 || !goes_on(text, at - 1));
            if (whole) {
                text.replace(at, word.size(), own_place);
            }
            at += whole ? own_place.size() : word.size();
        }
    }
    return text;
}

struct Alike {
    Error first{};
    std::vector<std::string> names{};
    bool nodes = false;
    std::string message{}, hint{}; // without what is each one's own
};

std::string counted(std::size_t count, std::size_t total, std::string_view what) {
    if (count == total) {
        return fmt::format("all {} {}s", total, what);
    }
    return count < total ? fmt::format("{} of {} {}s", count, total, what)
                         : fmt::format("{} {}s", count, what);
}

Error folded(const Alike& alike, ClusterSize size) {
    auto message = alike.message;
    if (message.starts_with(std::string(own_place) + " ")) { // "… refused the connection"
        message.erase(0, own_place.size() + 1);
    }
    const auto names = short_host_list(alike.names, widest_folded);
    const bool cut = names.find(own_place) != std::string::npos;
    return {.kind = alike.first.kind,
            .where = counted(alike.names.size(), alike.nodes ? size.nodes : size.hosts,
                             alike.nodes ? "node" : "host"),
            .message = fmt::format("{} ({}{}{})", message, names, cut ? "; " : "", cut ? all_there : ""),
            .hint = alike.hint};
}

// The first line, which says what it is about, and of the others what tells most.
std::string shortened(const std::string& text) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    if (text.size() <= a_screen.bytes && lines <= a_screen.lines) {
        return text;
    }
    const auto note = fmt::format(" ({})", all_there);
    const auto first =
        telling_lines(std::string_view(text).substr(0, end), {.lines = 1, .bytes = a_screen.bytes / 2});
    if (end == text.size()) {
        return first.text + note;
    }
    const auto rest =
        telling_lines(std::string_view(text).substr(end + 1),
                      {.lines = a_screen.lines - 1, .bytes = a_screen.bytes - first.text.size()});
    return first.text + note + "\n" + rest.text;
}

// In a file: "cluster.yaml:3:5". load_spec keeps their number in bounds.
bool is_in_a_file(const Error& error) {
    return (error.kind == ErrorKind::config || error.kind == ErrorKind::usage) && !subject_of(error.where);
}

} // namespace

Errors fold_errors(const Errors& errors, ClusterSize size) {
    std::vector<Alike> groups;
    std::map<std::tuple<ErrorKind, bool, std::string, std::string>, std::size_t> known;
    std::vector<std::size_t> group_of(errors.size());
    for (std::size_t i = 0; i < errors.size(); ++i) {
        const auto& error = errors[i];
        const auto subject = subject_of(error.where);
        Alike alike{.first = error};
        if (!subject) {
            group_of[i] = groups.size();
            groups.push_back(std::move(alike));
            continue;
        }
        alike.nodes = subject->node;
        alike.message = without(error.message, subject->own);
        alike.hint = without(error.hint, subject->own);
        const auto [at, fresh] =
            known.try_emplace({error.kind, subject->node, alike.message, alike.hint}, groups.size());
        if (fresh) {
            groups.push_back(std::move(alike));
        }
        group_of[i] = at->second;
        groups[at->second].names.push_back(subject->name);
    }
    Errors result;
    std::vector<bool> told(groups.size());
    std::size_t others = 0; // that are no mistakes in a file
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
        const auto& alike = groups[group_of[i]];
        const bool folds = alike.names.size() >= least_alike;
        if (folds && told[group_of[i]]) {
            continue;
        }
        told[group_of[i]] = true;
        auto error = folds ? folded(alike, size) : errors[i];
        error.message = shortened(error.message);
        error.hint = shortened(error.hint);
        if (!is_in_a_file(errors[i]) && ++others > most_errors) {
            hidden += folds ? alike.names.size() : 1;
            continue;
        }
        result.push_back(std::move(error));
    }
    if (hidden > 0) {
        result.push_back(
            {.kind = result.back().kind, .message = fmt::format("{} more errors; {}", hidden, all_there)});
    }
    return result;
}

void tell_errors(Reporter& reporter, const Errors& errors, ClusterSize size) {
    for (const auto& error : reporter.folds() ? fold_errors(errors, size) : errors) {
        reporter.error(error);
    }
}

void tell_warnings(Reporter& reporter, const Errors& warnings, ClusterSize size) {
    for (const auto& warning : reporter.folds() ? fold_errors(warnings, size) : warnings) {
        reporter.on(warning_event(warning));
    }
}

} // namespace dockdist
