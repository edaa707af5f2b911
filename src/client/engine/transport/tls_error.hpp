// What a failure of TLS means for a person.
#pragma once

#include "shared/core/engine_address.hpp"
#include "shared/core/error.hpp"

#include <boost/system/error_code.hpp>

namespace dockdist {

// `verify_result` is SSL_get_verify_result of the connection.
Error handshake_error(const EngineAddress& address, const boost::system::error_code& error,
                      long verify_result);
Error tls_stream_error(const boost::system::error_code& error);

} // namespace dockdist
