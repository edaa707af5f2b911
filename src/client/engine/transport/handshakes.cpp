#include "client/engine/transport/handshakes.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

#include <optional>

namespace dockdist {
namespace {

constexpr std::size_t places = 32;

class Handshakes : public boost::asio::execution_context::service {
public:
    using key_type = Handshakes;
    static inline boost::asio::execution_context::id id;

    explicit Handshakes(boost::asio::execution_context& context)
        : boost::asio::execution_context::service(context) {}

    Limiter& limiter(const boost::asio::any_io_executor& executor) {
        if (!limiter_) {
            limiter_.emplace(executor, places);
        }
        return *limiter_;
    }

private:
    void shutdown() override { limiter_.reset(); }

    std::optional<Limiter> limiter_{};
};

} // namespace

Task<Limiter::Permit> handshake_place(const boost::asio::any_io_executor& executor) {
    return boost::asio::use_service<Handshakes>(boost::asio::query(executor, boost::asio::execution::context))
        .limiter(executor)
        .acquire();
}

} // namespace dockdist
