#include "client/engine/transport/ssh/login.hpp"

#include "client/engine/transport/ssh/signature.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

class Login {
public:
    Login(std::shared_ptr<SshSession> session, SshSettings settings, std::shared_ptr<const UserKeys> keys,
          bool asks)
        : session_(std::move(session)), settings_(std::move(settings)), keys_(std::move(keys)),
          notes_(keys_->unavailable), asks_(asks) {
        notes_.insert(notes_.end(), keys_->left_out.begin(), keys_->left_out.end());
    }

    Task<Status> run() {
        const auto methods = co_await ask_methods();
        if (!methods || methods->empty()) { // empty: nothing had to be proven
            co_return methods ? Status(ok) : Status(methods.error());
        }
        if (!has(*methods, "publickey")) {
            look_beyond(*methods);
            co_return Error{
                ErrorKind::unreachable, "",
                fmt::format("{} accepts no keys, only: {}", session_->where(), printable(*methods)),
                "allow `PubkeyAuthentication yes` there"};
        }
        for (const auto& key : keys_->keys) {
            const auto done = co_await offer(key);
            if (!done || *done == Access::granted) {
                co_return done ? Status(ok) : Status(done.error());
            }
        }
        const auto left = co_await ask_methods();
        if (left && !left->empty()) {
            look_beyond(*left);
        }
        co_return nobody_let_in();
    }

private:
    enum class Access { refused, granted };
    using Outcome = Result<Access>; // not of bool: a const one, returned, would become "has a value"

    static bool has(std::string_view methods, std::string_view method) {
        return std::ranges::count(split(methods, ','), method) > 0;
    }

    // What the server lets a client go on with.
    Task<Result<std::string>> ask_methods() {
        std::string methods;
        const auto code = co_await session_->repeat([&] {
            const char* list = ::libssh2_userauth_list(session_->raw(), settings_.user.data(),
                                                       static_cast<unsigned>(settings_.user.size()));
            if (list != nullptr) {
                methods = list;
                return 0;
            }
            return ::libssh2_userauth_authenticated(session_->raw()) != 0
                       ? 0
                       : ::libssh2_session_last_errno(session_->raw());
        });
        CO_TRY(code);
        if (*code != 0) {
            co_return lost();
        }
        co_return methods;
    }

    // Whether the user's own ssh may do what is left.
    void look_beyond(const std::string& methods) {
        if (!has(methods, "publickey") && !tried_.empty()) {
            session_->beyond = "it wants more than a key: " + printable(methods);
        } else if (!keys_->left_out.empty()) {
            session_->beyond = keys_->left_out.front();
        } else {
            for (const auto& method : settings_.other_logins) {
                const bool asking = method == "password" || method == "keyboard-interactive";
                if (has(methods, method) && (asks_ || !asking)) {
                    session_->beyond = "none of its keys is accepted, and there is " + method;
                    break;
                }
            }
        }
    }

    Task<Outcome> offer(const UserKey& key) {
        tried_.push_back(key.name);
        const auto offered = offered_blob(key.blob);
        Signature signature;
        void* self = &signature;
        while (true) {
            const int code =
                ::libssh2_userauth_publickey(session_->raw(), settings_.user.c_str(),
                                             reinterpret_cast<const unsigned char*>(offered.data()),
                                             offered.size(), &give_signature, &self);
            if (code == 0) {
                co_return Access::granted;
            }
            if (code != LIBSSH2_ERROR_EAGAIN) {
                co_return refused();
            }
            if (signature.data.empty() || signature.bytes) {
                if (const auto more = co_await session_->progress(); !more) {
                    co_return lost();
                }
                continue;
            }
            auto bytes = co_await sign(key, signature.data);
            if (bytes) {
                signature.bytes = std::move(*bytes);
            } else {
                notes_.push_back(key.name + ": " + bytes.error().message);
                signature.refused = true;
            }
        }
    }

    Task<Result<std::string>> sign(const UserKey& key, std::string data) const {
        if (!key.file) {
            return keys_->agent->sign(key.blob, std::move(data));
        }
        return signed_here(key.file->sign(data));
    }

    static Task<Result<std::string>> signed_here(std::optional<std::string> signature) {
        co_return signature ? Result<std::string>(std::move(*signature))
                            : Result<std::string>(Error{.message = "OpenSSL does not sign with it"});
    }

    // --- errors ---

    // The server did not take a key: it may have hung up with that.
    Outcome refused() const {
        if (session_->broken() || !session_->farewell().empty()) {
            return lost();
        }
        return Access::refused;
    }

    Error lost() const {
        const auto& farewell = session_->farewell();
        if (!tried_.empty() && !farewell.empty()) {
            Error error = nobody_let_in();
            error.message += fmt::format(", and hung up: {}", farewell);
            if (farewell.find("oo many authentication failures") != std::string::npos) {
                error.hint =
                    "it allows few tries: name the right key in your ssh configuration (IdentityFile, with "
                    "IdentitiesOnly yes)";
            }
            return error;
        }
        if (session_->broken()) {
            return *session_->broken();
        }
        return {ErrorKind::unreachable, "", fmt::format("{} broke off the login", session_->where()), ""};
    }

    Error nobody_let_in() const {
        Error error{ErrorKind::unreachable, "", "", ""};
        error.message = fmt::format("{} does not let {} in: ", session_->where(), settings_.user);
        error.message += tried_.empty() ? "there was no key to try"
                                        : fmt::format("it refused {}", fmt::join(tried_, ", "));
        if (!notes_.empty()) {
            error.message += fmt::format(" ({})", fmt::join(notes_, "; "));
        }
        error.hint = fmt::format(
            "does `ssh {}@{}` work without a password? if not: ssh-copy-id, or ssh-add the right key",
            shell_quote(settings_.user), shell_quote(settings_.alias));
        return error;
    }

    std::shared_ptr<SshSession> session_;
    SshSettings settings_;
    std::shared_ptr<const UserKeys> keys_;
    std::vector<std::string> tried_{};
    std::vector<std::string> notes_;
    bool asks_;
};

} // namespace

Task<Status> log_in(std::shared_ptr<SshSession> session, SshSettings settings,
                    std::shared_ptr<const UserKeys> keys, bool asks) {
    Login login(std::move(session), std::move(settings), std::move(keys), asks);
    co_return co_await login.run();
}

} // namespace dockdist
