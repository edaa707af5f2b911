// What an engine asks of the client while BuildKit builds (github.com/moby/buildkit, session/secrets,
// session/auth): the secrets that steps mount, and the logins for registries. Pure; who answers a login is
// the caller.
#pragma once

#include "client/container/types.hpp"
#include "client/engine/buildkit/grpc_server.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// The methods that /session announces, in the form of its header.
std::vector<std::string> build_session_methods();

// Of these the one whose calls have many messages: folder_sender.hpp speaks it.
inline constexpr std::string_view diff_copy = "/moby.filesync.v1.FileSync/DiffCopy";

// What is asked for: answered already, or a registry whose login is to be found ("ghcr.io").
struct BuildQuestion {
    GrpcAnswer answer{};
    std::string login_for{}; // not empty: answer it by login_answer()
};
BuildQuestion read_build_question(const GrpcCall& call, std::span<const BuildSecret> secrets);
GrpcAnswer login_answer(const std::optional<BuildLogin>& login);

} // namespace dockdist
