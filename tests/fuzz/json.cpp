// The JSON that an engine answers with, and docker's own files: each document by itself.
#include "client/engine/docker_context.hpp"
#include "client/engine/engine_session.hpp"
#include "client/engine/json_decode.hpp"
#include "fuzz/fuzz.hpp"

#include <array>

namespace {

using namespace dockdist;

template <class T>
void judge(const Result<T>& decoded) {
    if (!decoded) {
        fuzz::require(!decoded.error().message.empty() && decoded.error().message.size() < 8192,
                      "an error says what is wrong, briefly");
        fuzz::require(fuzz::has_no_controls(decoded.error().message) &&
                          fuzz::has_no_controls(decoded.error().hint),
                      "an error has no controls");
    }
}

constexpr std::array<fuzz::Read, 13> kinds{
    [](std::string_view text) { judge(decode_info(text, {1, 45})); },
    [](std::string_view text) { judge(decode_container_list(text)); },
    [](std::string_view text) { judge(decode_container(text)); },
    [](std::string_view text) { judge(decode_id(text, "the answer")); },
    [](std::string_view text) { judge(decode_exec(text)); },
    [](std::string_view text) { judge(decode_image(text)); },
    [](std::string_view text) { judge(decode_volume(text)); },
    [](std::string_view text) { judge(decode_event(text)); },
    [](std::string_view text) { judge(decode_pull_message(text)); },
    [](std::string_view text) {
        const auto message = decode_build_message(text);
        judge(message);
        fuzz::require(!message || fuzz::has_no_controls(message->error), "a build's error is one line");
    },
    [](std::string_view text) {
        const auto message = decode_error_message(text);
        fuzz::require(fuzz::has_no_controls(message) && message.size() < 8192,
                      "an engine's word is one line, and bounded");
    },
    [](std::string_view text) { judge(parse_context_meta(text, "name")); },
    [](std::string_view text) {
        const auto said = fuzz::parts(text, 2);
        const auto agreed =
            agree_on_version({.status = 200, .headers = {{"Api-Version", said[0]}, {"Server", said[1]}}});
        judge(agreed);
        fuzz::require(!agreed || (*agreed >= oldest_api && *agreed <= newest_api),
                      "a version is one that is spoken");
        const auto libpod = libpod_version_of({.status = 200, .headers = {{libpod_header, said[0]}}});
        fuzz::require(libpod.find_first_not_of("0123456789.") == std::string::npos && libpod.size() <= 11,
                      "what becomes part of a path is a version");
    }};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    const std::array<std::string_view, 11> names{"info.json",   "containers.json", "container_running.json",
                                                 "create.json", "exec_ended.json", "image.json",
                                                 "volume.json", "events.jsonl",    "pull_failed.jsonl",
                                                 "build",       "name_taken.json"};
    for (std::size_t kind = 0; kind < names.size(); ++kind) {
        for (const auto& text : recorded_files("tests/unit/engine/recorded", names.at(kind))) {
            const auto line = names.at(kind).ends_with("jsonl") ? text.substr(0, text.find('\n')) : text;
            if (line.size() < 12'000) {
                all.push_back(of_kind(kind, line));
            }
        }
    }
    all.push_back(
        of_kind(8, R"({"status":"Downloading","id":"ab","progressDetail":{"current":1,"total":2}})"));
    all.push_back(of_kind(9, R"({"errorDetail":{"code":7,"message":"no"},"error":"no"})"));
    all.push_back(of_kind(9, R"({"stream":"Step 1/2 : FROM x\n"})"));
    all.push_back(of_kind(9, R"({"aux":{"ID":"sha256:ab"}})"));
    all.push_back(
        of_kind(11, R"({"Name":"x","Endpoints":{"docker":{"Host":"tcp://h:2376","SkipTLSVerify":true}}})"));
    all.push_back(of_kind(12, of_parts({"1.45", "Libpod/4.3"})));
    return all;
}
