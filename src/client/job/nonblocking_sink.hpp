// stdout and stderr of a client that must not stand still with its reader: a terminal that is stopped, a
// pager. While its reader takes nothing the client goes on to hold its jobs' leases, and asks the nodes for
// no more output.
#pragma once

#include "client/async/async_event.hpp"
#include "client/report/output.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <map>
#include <string>

namespace dockdist {

class NonblockingSink : public OutputSink {
public:
    explicit NonblockingSink(boost::asio::any_io_executor executor);
    ~NonblockingSink() override; // drops what is kept: who was cancelled waits for no reader

    // Never blocks: what the reader does not take is kept.
    void write(int fd, const Displayable& text) override;
    // Returns once nothing is kept. To be waited for between one batch of output and the next.
    Task<void> room();
    // Writes what is kept, however long its reader takes.
    void finish();
    std::size_t kept() const;

private:
    struct Outlet {
        int fd = -1;            // non-blocking where it could be had, else the one that was given
        bool is_own = false;    // opened here
        bool may_block = false; // a write of many bytes does
        bool broken = false;    // its reader is gone
        std::string unwritten{};
    };
    Outlet& outlet(int fd);
    static void write_some(Outlet& outlet, bool wait);
    Task<void> wait_until_writable(const Outlet& outlet);

    boost::asio::any_io_executor executor_;
    AsyncEvent changed_;
    std::map<int, Outlet> outlets_{};
    bool waited_for_ = false; // by one coroutine for all
};

} // namespace dockdist
