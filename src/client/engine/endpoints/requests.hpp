// The shapes that requests have in common.
#pragma once

#include "client/engine/engine_session.hpp"
#include "client/engine/http/message.hpp"

#include <string>
#include <string_view>

namespace dockdist::endpoints {

inline HttpRequest get(std::string target) {
    HttpRequest request;
    request.target = std::move(target);
    return request;
}

inline HttpRequest post(std::string target, std::string json = {}) {
    HttpRequest request;
    request.method = "POST";
    request.target = std::move(target);
    request.content_type = json.empty() ? "" : "application/json";
    request.body = std::move(json);
    return request;
}

// "/containers/<id>" + rest. An empty id would make another path of it, which engines answer by a redirect.
inline std::string item(std::string_view collection, std::string_view id, std::string_view rest = "") {
    return "/" + std::string(collection) + "/" + (id.empty() ? "-" : percent_encode(id)) + std::string(rest);
}

// A decoded answer, or its error with `where`.
template <class T>
Result<T> decoded(const EngineSession& session, Result<T> value) {
    if (!value) {
        return session.located(value.error());
    }
    return value;
}

inline std::string short_id(const std::string& id) {
    return id.substr(0, 12);
}

} // namespace dockdist::endpoints
