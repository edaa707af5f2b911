// What a failed connection means for a person.
#pragma once

#include "client/container/engine_words.hpp"
#include "shared/core/engine_address.hpp"
#include "shared/core/error.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace dockdist {

// By its name, before anything has answered there.
bool is_podman_socket(std::string_view path);
bool is_users_socket(std::string_view path); // of a rootless engine
const EngineWords& words_of_socket(std::string_view path);

Error connect_error(const EngineAddress& address, const boost::system::error_code& error);
Error connect_timeout_error(const EngineAddress& address, std::chrono::milliseconds limit);
Error stream_error(const boost::system::error_code& error); // of an established stream

} // namespace dockdist
