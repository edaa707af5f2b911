// What an engine's refusal means for a person.
#pragma once

#include "client/engine/http/message.hpp"

#include <string>
#include <string_view>

namespace dockdist {

// What was asked of an engine.
struct AskedCall {
    std::string what{};    // "create container vision-a"
    std::string request{}; // "POST /containers/create"; empty where nobody can be told to allow it
    bool podman = false;   // whom
};

// Of an answer whose status is not a success. Without `where`.
Error engine_error(const HttpResponse& response, const AskedCall& call);

// For AskedCall: method and path, with "ID" for each id.
std::string request_in_words(const HttpRequest& request);

// What to do about an engine's message; empty when it is none that we know.
std::string engine_hint(std::string_view message, bool podman);

// What to do about the message of an authorization plugin, or about one that does not work (moby,
// pkg/authorization); empty: it is none. `request`: AskedCall's.
std::string authorization_hint(std::string_view message, const std::string& request);

} // namespace dockdist
