// Contexts of the docker command line (`docker context ls`): where an engine is, and the files of TLS for it.
#pragma once

#include "shared/core/engine_address.hpp"
#include "shared/core/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

struct DockerContext {
    EngineAddress address{};
    std::optional<TlsFiles> tls{};
};

using Environment = std::function<std::optional<std::string>(const std::string&)>;

// The engine that the context's meta.json names, without the files of TLS. Errors: config, without `where`.
struct ContextMeta {
    std::string host{};
    bool skip_tls_verify = false;
};
Result<ContextMeta> parse_context_meta(std::string_view json, const std::string& name);

// Reads $DOCKER_CONFIG (else ~/.docker)/contexts/meta/SHA256/meta.json and contexts/tls/SHA256/docker/*.pem.
// The name "default" means what DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH say, else this machine's
// own engine. Errors: config, without `where`.
Result<DockerContext> load_docker_context(const std::string& name, const Environment& environment);

// What DOCKER_HOST says, as an engine address: to docker "gpu1:2375" is tcp://gpu1:2375. Empty: nothing.
std::string docker_host(const Environment& environment);

// The folder of ca.pem, cert.pem and key.pem that DOCKER_TLS_VERIFY means: DOCKER_CERT_PATH, else
// $DOCKER_CONFIG or ~/.docker.
std::string docker_tls_folder(const Environment& environment);

// The one that the docker command line would use now: DOCKER_HOST before DOCKER_CONTEXT before the
// configuration's currentContext.
std::string current_docker_context(const Environment& environment);

} // namespace dockdist
