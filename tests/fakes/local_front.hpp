// A unix socket before a StubServer.
#pragma once

#include "shared/core/engine_address.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace dockdist {

class LocalFront {
public:
    LocalFront(boost::asio::io_context& io, const std::string& path, const EngineAddress& behind);
    LocalFront(const LocalFront&) = delete;
    LocalFront& operator=(const LocalFront&) = delete;
    ~LocalFront(); // who is connected stays so

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace dockdist
