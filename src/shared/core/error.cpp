#include "shared/core/error.hpp"

namespace dockdist {

std::string_view to_string(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::usage:
        return "usage";
    case ErrorKind::config:
        return "config";
    case ErrorKind::unreachable:
        return "unreachable";
    case ErrorKind::timeout:
        return "timeout";
    case ErrorKind::protocol:
        return "protocol";
    case ErrorKind::engine:
        return "engine";
    case ErrorKind::not_found:
        return "not_found";
    case ErrorKind::conflict:
        return "conflict";
    case ErrorKind::node:
        return "node";
    case ErrorKind::job:
        return "job";
    case ErrorKind::locked:
        return "locked";
    case ErrorKind::busy:
        return "busy";
    case ErrorKind::interrupted:
        return "interrupted";
    case ErrorKind::internal:
        return "internal";
    }
    return "internal";
}

std::string to_text(const Error& error) {
    std::string text;
    if (!error.where.empty()) {
        text += error.where + ": ";
    }
    text += error.message;
    if (!error.hint.empty()) {
        text += "\n  " + error.hint;
    }
    return text;
}

} // namespace dockdist
