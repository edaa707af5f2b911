#include "engine/transport/transport.hpp"

namespace dockdist {

std::unique_ptr<Transport> make_tls_transport(const boost::asio::any_io_executor&, EngineAddress, TlsFiles,
                                              std::chrono::milliseconds) {
    return make_refusing_transport({ErrorKind::config, "", "TLS is not supported yet", ""});
}

} // namespace dockdist
