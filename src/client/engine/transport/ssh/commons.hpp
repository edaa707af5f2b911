// What all ssh connections of an io_context share.
#pragma once

#include "client/async/limiter.hpp"
#include "client/engine/transport/ssh/private_folder.hpp"
#include "client/engine/transport/ssh/questions.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

#include <map>
#include <optional>
#include <string>

namespace dockdist {

class SshCommons : public boost::asio::execution_context::service {
public:
    using key_type = SshCommons;
    static inline boost::asio::execution_context::id id;

    explicit SshCommons(boost::asio::execution_context& context)
        : boost::asio::execution_context::service(context) {}

    static SshCommons& of(const boost::asio::any_io_executor& executor) {
        return boost::asio::use_service<SshCommons>(
            boost::asio::query(executor, boost::asio::execution::context));
    }

    // A place among those who log in to the same sshd. By default one refuses some of more than ten
    // connections that have not logged in yet (MaxStartups 10:30:100), and many hosts may stand behind one
    // jump host.
    Task<Limiter::Permit> begin_login(const boost::asio::any_io_executor& executor,
                                      const std::string& login) {
        return logins_.try_emplace(login, executor, std::size_t{8}).first->second.acquire();
    }

    // A place among the programs that are asked something (`ssh -G`), so that a thousand hosts do not start
    // a thousand of them.
    Task<Limiter::Permit> start_program(const boost::asio::any_io_executor& executor) {
        if (!programs_) {
            programs_.emplace(executor, std::size_t{16});
        }
        return programs_->acquire();
    }

    SshQuestions& questions(const boost::asio::any_io_executor& executor) {
        if (!questions_) {
            questions_.emplace(executor);
        }
        return *questions_;
    }

    // Of the sockets of the user's own ssh, which nobody else can reach. Errors: internal.
    Result<std::string> folder() {
        if (!folder_) {
            auto made = PrivateFolder::make();
            TRY(made);
            folder_.emplace(std::move(*made));
        }
        return folder_->path();
    }
    int next_number() { return ++number_; }

private:
    void shutdown() override {
        logins_.clear();
        programs_.reset();
        questions_.reset();
        folder_.reset();
    }

    std::map<std::string, Limiter> logins_{};
    std::optional<Limiter> programs_{};
    std::optional<SshQuestions> questions_{};
    std::optional<PrivateFolder> folder_{};
    int number_ = 0;
};

} // namespace dockdist
