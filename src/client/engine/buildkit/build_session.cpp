#include "client/engine/buildkit/build_session.hpp"

#include <algorithm>
#include <array>
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_reader.hpp>

namespace dockdist {
namespace {

constexpr std::string_view health = "/grpc.health.v1.Health/Check";
constexpr std::string_view get_secret = "/moby.buildkit.secrets.v1.Secrets/GetSecret";
constexpr std::string_view credentials = "/moby.filesync.v1.Auth/Credentials";

// The first field of a request: a secret's id, a registry's name.
std::optional<std::string> first_text(const std::string& bytes) {
    std::string text;
    try {
        protozero::pbf_reader message(bytes);
        while (message.next()) {
            if (message.tag_and_type() ==
                protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited)) {
                text = message.get_string();
            } else {
                message.skip();
            }
        }
    } catch (const protozero::exception&) {
        return std::nullopt;
    }
    return text;
}

// It goes to a credential helper, as a line of its own.
bool is_registry_name(std::string_view name) {
    constexpr std::size_t longest = 300; // of a host and a port, with room
    return !name.empty() && name.size() <= longest &&
           std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}

} // namespace

std::vector<std::string> build_session_methods() {
    return {std::string(health), std::string(get_secret), std::string(credentials), std::string(diff_copy)};
}

BuildQuestion read_build_question(const GrpcCall& call, std::span<const BuildSecret> secrets) {
    if (call.method == health) {
        std::string serving;
        protozero::pbf_writer(serving).add_enum(1, 1); // HealthCheckResponse.SERVING
        return {.answer = {.message = std::move(serving)}};
    }
    if (call.method != get_secret && call.method != credentials) {
        return {.answer = {.status = GrpcStatus::unimplemented}};
    }
    auto asked = first_text(call.message);
    if (!asked) {
        return {.answer = {.status = GrpcStatus::internal}};
    }
    if (call.method == credentials) {
        return is_registry_name(*asked) ? BuildQuestion{.login_for = std::move(*asked)}
                                        : BuildQuestion{.answer = login_answer(std::nullopt)};
    }
    const auto secret = std::ranges::find(secrets, *asked, &BuildSecret::id);
    if (secret == secrets.end()) {
        return {.answer = {.status = GrpcStatus::not_found}};
    }
    std::string found;
    protozero::pbf_writer(found).add_bytes(1, secret->value);
    return {.answer = {.message = std::move(found)}};
}

GrpcAnswer login_answer(const std::optional<BuildLogin>& login) {
    GrpcAnswer answer;
    if (login) {
        protozero::pbf_writer message(answer.message);
        message.add_string(1, login->user);
        message.add_string(2, login->password);
    }
    return answer;
}

} // namespace dockdist
