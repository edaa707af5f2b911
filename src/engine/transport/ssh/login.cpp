#include "engine/transport/ssh/login.hpp"

#include "core/text.hpp"
#include "engine/transport/ssh/agent.hpp"
#include "engine/transport/ssh/key_file.hpp"
#include "engine/transport/ssh/packet.hpp"
#include "engine/transport/ssh/passphrase.hpp"
#include "engine/transport/ssh/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace dockdist {
namespace {

constexpr int passphrase_tries = 3; // as ssh

class Login {
public:
    Login(std::shared_ptr<SshSession> session, SshSettings settings, std::shared_ptr<SshSecrets> secrets)
        : session_(std::move(session)), settings_(std::move(settings)), secrets_(std::move(secrets)) {}

    Task<Status> run() {
        const auto methods = co_await ask_methods();
        if (!methods || methods->empty()) { // empty: nothing had to be proven
            co_return methods ? Status(ok) : Status(methods.error());
        }
        if (methods->find("publickey") == std::string::npos) {
            co_return Error{ErrorKind::unreachable, "",
                            fmt::format("{} takes no keys, only: {}", session_->where(), printable(*methods)),
                            "dockdist logs in with keys; allow `PubkeyAuthentication yes` there"};
        }
        read_files();
        auto done = co_await try_agent();
        for (std::size_t i = 0; i < files_.size() && done && *done == Door::shut; ++i) {
            done = co_await try_file(files_[i]);
        }
        if (!done) {
            co_return done.error();
        }
        co_return *done == Door::open ? Status(ok) : Status(nobody_let_in());
    }

private:
    enum class Door { shut, open };
    using Outcome = Result<Door>; // not of bool: a const one, returned, would become "has a value"

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
        if (!code) {
            co_return code.error();
        }
        if (*code != 0) {
            co_return lost();
        }
        co_return methods;
    }

    void read_files() {
        const auto read = [](const std::string& path) {
            std::ifstream file(path, std::ios::binary);
            return std::string(std::istreambuf_iterator<char>(file), {});
        };
        for (const auto& path : settings_.identity_files) {
            auto file = inspect_key(path, read(path), read(path + ".pub"));
            if (!file.text.empty() || !file.blob.empty()) {
                files_.push_back(std::move(file));
            }
        }
    }

    // --- the agent ---

    Task<Outcome> try_agent() {
        if (settings_.agent_socket.empty()) {
            notes_.emplace_back("no ssh agent runs");
            co_return Door::shut;
        }
        auto agent = co_await SshAgent::connect(session_->executor(), settings_.agent_socket);
        if (!agent) {
            notes_.push_back(agent.error().message);
            co_return Door::shut;
        }
        auto keys = co_await (*agent)->keys();
        if (!keys) {
            notes_.push_back(keys.error().message);
            co_return Door::shut;
        }
        // As ssh does: first those that the configuration names.
        std::vector<AgentKey> in_order;
        std::ranges::copy_if(*keys, std::back_inserter(in_order),
                             [&](const auto& key) { return is_named(key); });
        if (!settings_.identities_only) {
            std::ranges::copy_if(*keys, std::back_inserter(in_order),
                                 [&](const auto& key) { return !is_named(key); });
        }
        for (const auto& key : in_order) {
            agent_blobs_.push_back(key.blob);
            const auto name = fmt::format("{} (agent: {})", key_type(key.blob), printable(key.comment));
            if (!may_be_offered(key.blob, name)) {
                continue;
            }
            const auto sign = [&](std::string data) { return (*agent)->sign(key.blob, std::move(data)); };
            const auto done = co_await offer(key.blob, name, sign);
            if (!done || *done == Door::open) {
                co_return done;
            }
        }
        co_return Door::shut;
    }

    bool is_named(const AgentKey& key) const {
        return std::ranges::find(files_, key.blob, &KeyFile::blob) != files_.end();
    }

    bool may_be_offered(const std::string& blob, const std::string& name) {
        const auto why = why_not_offered(blob, settings_.algorithms);
        if (!why.empty()) {
            notes_.push_back(name + ": " + why);
        }
        return why.empty();
    }

    template <class Sign>
    Task<Outcome> offer(std::string blob, std::string name, Sign sign) {
        tried_.push_back(name);
        const auto offered = offered_blob(blob);
        Signature signature;
        void* self = &signature;
        while (true) {
            const int code =
                ::libssh2_userauth_publickey(session_->raw(), settings_.user.c_str(),
                                             reinterpret_cast<const unsigned char*>(offered.data()),
                                             offered.size(), &give_signature, &self);
            if (code == 0) {
                co_return Door::open;
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
            auto bytes = co_await sign(signature.data);
            if (bytes) {
                signature.bytes = std::move(*bytes);
            } else {
                notes_.push_back(name + ": " + bytes.error().message);
                signature.refused = true;
            }
        }
    }

    // --- files ---

    Task<Outcome> try_file(KeyFile& file) {
        const auto name = short_path(file.path, ssh_surroundings().home);
        if (file.text.empty() || std::ranges::find(agent_blobs_, file.blob) != agent_blobs_.end()) {
            co_return Door::shut; // the agent's business
        }
        if (file.form == KeyFile::Form::unknown) {
            notes_.push_back(name + ": not a private key that can be read");
            co_return Door::shut;
        }
        if (!file.blob.empty() && !may_be_offered(file.blob, name)) {
            co_return Door::shut;
        }
        if (!file.encrypted) {
            co_return co_await use_file(file, name, "");
        }
        if (!file.blob.empty()) { // ask nobody for a key that the server does not want
            const auto wanted = co_await would_take(file.blob);
            if (!wanted || *wanted == Door::shut) {
                tried_.push_back(name);
                co_return wanted;
            }
        }
        co_return co_await use_encrypted(file, name);
    }

    Task<Outcome> use_encrypted(KeyFile& file, std::string name) {
        auto& secrets = *secrets_;
        if (is_rsa(file.blob) && file.form == KeyFile::Form::openssh) {
            co_return co_await use_file(file, name, ""); // says that only an agent can
        }
        const auto permit = co_await secrets.asking.acquire();
        if (const auto known = secrets.passphrases.find(file.path); known != secrets.passphrases.end()) {
            co_return co_await use_file(file, name, known->second);
        }
        for (int again = 0; again < passphrase_tries && !secrets.refused.contains(file.path); ++again) {
            const auto said = co_await ask("Passphrase of " + name + ": ");
            if (!said) {
                notes_.push_back(name + ": " + said.error().message);
                co_return Door::shut;
            }
            passphrase_is_wrong_ = false;
            const auto done = co_await use_file(file, name, *said);
            if (!passphrase_is_wrong_) {
                if (done && *done == Door::open) {
                    secrets.passphrases[file.path] = *said;
                }
                co_return done;
            }
        }
        secrets.refused.insert(file.path);
        notes_.push_back(name + ": the passphrase is wrong");
        co_return Door::shut;
    }

    Task<Result<std::string>> ask(std::string question) {
        struct Hold {
            std::shared_ptr<SshSecrets> secrets;
            ~Hold() { secrets->hold(false); }
        };
        if (!secrets_->hold || settings_.batch) {
            co_return Error{ErrorKind::config, "", "it has a passphrase, and nobody is asked for it here",
                            ""};
        }
        secrets_->hold(true);
        const Hold hold{secrets_};
        co_return co_await read_passphrase(session_->executor(), std::move(question));
    }

    Task<Outcome> use_file(KeyFile& file, std::string name, std::string passphrase) {
        if (file.form == KeyFile::Form::openssh && file.encrypted && !is_rsa(file.blob)) {
            co_return co_await leave_file_to_libssh2(file, name, std::move(passphrase));
        }
        const auto key = PrivateKey::read(file, passphrase);
        if (!key) {
            passphrase_is_wrong_ = file.encrypted && file.form == KeyFile::Form::pem;
            if (!passphrase_is_wrong_) {
                notes_.push_back(key.error().message + " (" + key.error().hint + ")");
            }
            co_return Door::shut;
        }
        if (!may_be_offered(key->blob(), name)) {
            co_return Door::shut;
        }
        const auto sign = [&](std::string data) -> Task<Result<std::string>> {
            auto signature = key->sign(data);
            co_return signature ? Result<std::string>(std::move(*signature))
                                : Result<std::string>(Error{.message = "OpenSSL does not sign with it"});
        };
        co_return co_await offer(key->blob(), name, sign);
    }

    // For it knows bcrypt.
    Task<Outcome> leave_file_to_libssh2(KeyFile& file, std::string name, std::string passphrase) {
        const auto code = co_await session_->repeat([&] {
            return ::libssh2_userauth_publickey_fromfile_ex(session_->raw(), settings_.user.data(),
                                                            static_cast<unsigned>(settings_.user.size()),
                                                            nullptr, file.path.c_str(), passphrase.c_str());
        });
        passphrase_is_wrong_ =
            code && (*code == LIBSSH2_ERROR_FILE || *code == LIBSSH2_ERROR_KEYFILE_AUTH_FAILED);
        if (passphrase_is_wrong_) {
            co_return Door::shut;
        }
        tried_.push_back(name);
        if (!code) {
            co_return lost();
        }
        co_return *code == 0 ? Outcome(Door::open) : refused();
    }

    Task<Outcome> would_take(std::string blob) {
        const auto offered = offered_blob(blob);
        Signature signature{.refused = true};
        void* self = &signature;
        const auto code = co_await session_->repeat([&] {
            return ::libssh2_userauth_publickey(session_->raw(), settings_.user.c_str(),
                                                reinterpret_cast<const unsigned char*>(offered.data()),
                                                offered.size(), &give_signature, &self);
        });
        if (!code) {
            co_return lost();
        }
        if (const auto still = refused(); !still) {
            co_return still;
        }
        co_return signature.data.empty() ? Door::shut : Door::open;
    }

    // --- errors ---

    // The server did not take a key: it may have hung up with that.
    Outcome refused() const {
        if (session_->broken() || !session_->farewell().empty()) {
            return lost();
        }
        return Door::shut;
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
        error.hint =
            fmt::format("does `ssh {}@{}` work without a password? if not: ssh-copy-id, or ssh-add the right "
                        "key; dockdist can use ed25519, ecdsa and RSA keys",
                        shell_quote(settings_.user), shell_quote(settings_.alias));
        return error;
    }

    std::shared_ptr<SshSession> session_;
    SshSettings settings_;
    std::shared_ptr<SshSecrets> secrets_;
    std::vector<KeyFile> files_{};
    std::vector<std::string> agent_blobs_{};
    std::vector<std::string> tried_{};
    std::vector<std::string> notes_{};
    bool passphrase_is_wrong_ = false; // the last time that one was used
};

} // namespace

Task<Status> log_in(std::shared_ptr<SshSession> session, SshSettings settings,
                    std::shared_ptr<SshSecrets> secrets) {
    Login login(std::move(session), std::move(settings), std::move(secrets));
    co_return co_await login.run();
}

} // namespace dockdist
