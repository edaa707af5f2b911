// One call and its answer, for the handlers of each group of calls.
#pragma once

#include "scale/stub_engines/http.hpp"
#include "scale/stub_engines/world.hpp"

#include <memory>

namespace dockdist::scale {

struct Exchange {
    World& world;
    Host& host;
    std::shared_ptr<Connection> connection;
    Request request;

    Task<void> answer(int status, nlohmann::json body = {}) const {
        (void)co_await connection->answer(status, body);
    }
    Task<void> fail(int status, std::string message) const {
        (void)co_await connection->fail(status, message);
    }
    // The body as JSON; null where it is none.
    Task<nlohmann::json> body() const;
};

// Each answers the calls of its group and says whether the call was one.
Task<bool> handle_system(Exchange exchange);
Task<bool> handle_containers(Exchange exchange);
Task<bool> handle_files(Exchange exchange);
Task<bool> handle_streams(Exchange exchange); // exec, attach, logs
Task<bool> handle_images(Exchange exchange);

// Of the volume of that name, made where it is not there.
Volume& volume_of(World& world, Host& host, const std::string& name,
                  const std::map<std::string, std::string>& labels);
// Of a volume, where no other host has the same.
void remove_folder(World& world, const Host& host, const std::string& folder);
// The image as a registry at HOST:PORT gives it, every digest verified, its progress as an engine tells it;
// what went wrong, or "".
Task<std::string> pull_from_registry(Exchange exchange, std::string reference, std::string tag);

} // namespace dockdist::scale
