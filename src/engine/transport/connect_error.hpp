// What a failed connection means for a person.
#pragma once

#include "core/engine_address.hpp"
#include "core/error.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace dockdist {

// By its name, before anything has answered there.
bool is_podman_socket(std::string_view path);
// What starts the engine that has this socket: "sudo systemctl start docker"; a user's own by their own
// systemd.
std::string how_to_start(std::string_view socket);

Error connect_error(const EngineAddress& address, const boost::system::error_code& error);
Error connect_timeout_error(const EngineAddress& address, std::chrono::milliseconds limit);
Error stream_error(const boost::system::error_code& error); // of an established stream

} // namespace dockdist
