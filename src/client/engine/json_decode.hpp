// The engine's JSON answers → types.hpp. Errors: protocol, naming the answer and the field; without `where`.
#pragma once

#include "client/container/types.hpp"
#include "shared/core/result.hpp"

#include <string_view>
#include <vector>

namespace dockdist {

Result<EngineInfo> decode_info(std::string_view text, ApiVersion negotiated);
Result<std::vector<ContainerSummary>> decode_container_list(std::string_view text);
Result<ContainerDetails> decode_container(std::string_view text);
Result<ContainerDiff> decode_diff(std::string_view changes, std::string_view details); // with its size
Result<std::string> decode_id(std::string_view text, std::string_view what); // {"Id": …} of create answers
Result<ExecState> decode_exec(std::string_view text);
Result<ImageDetails> decode_image(std::string_view text);
Result<VolumeDetails> decode_volume(std::string_view text);
Result<std::vector<VolumeDetails>> decode_volume_list(std::string_view text);
Result<EngineEvent> decode_event(std::string_view line);

// One message of a pull or load. The error that such a message may hold is ErrorKind::engine.
Result<PullProgress> decode_pull_message(std::string_view line);

// One message of a build; `error` is its end.
struct BuildMessage {
    BuildOutput output{};
    std::string trace{};            // of BuildKit: build_trace.hpp reads it
    std::string image_id{};         // "sha256:…"
    std::string error{};            // one line, printable
    std::optional<int> exit_code{}; // of the step that failed, where the engine tells it
};
Result<BuildMessage> decode_build_message(std::string_view line);

// The engine's word in an error answer: {"message": …}, or its text when it is no JSON; printable, one line,
// bounded.
std::string decode_error_message(std::string_view body);

} // namespace dockdist
