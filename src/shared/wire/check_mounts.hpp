// Whether a folder is the same storage on several nodes: with the question `facts` each leaves a token of its
// own in it, with `look` it looks for the others'. `forget`, or the session's end, removes it.
#pragma once

#include "shared/core/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

bool is_mount_token(std::string_view token); // letters and digits, 1 to 64

struct MountFacts {
    bool folder = false; // false for a file or a socket, and where nothing is there
    bool written = false;
    std::string why{};     // not written: "Permission denied"
    std::string listing{}; // where not written: equal for equal names
    std::string source{};  // the same: what is mounted there, "server:/export /folder"; empty: not known
};
void to_json(nlohmann::json& json, const MountFacts& mount);
void read_fields(ObjectReader& reader, MountFacts& mount);

struct LookForTokens {
    static constexpr const char* ask = "look";
    struct Answer {
        std::map<std::string, Result<std::vector<std::string>>> seen{}; // by folder: whose
    };
    std::vector<std::string> mounts{};
    std::string token{};
    std::vector<std::string> nodes{}; // plain names
};
void to_json(nlohmann::json& json, const LookForTokens& question);
void read_fields(ObjectReader& reader, LookForTokens& question);
void to_json(nlohmann::json& json, const LookForTokens::Answer& answer);
void read_fields(ObjectReader& reader, LookForTokens::Answer& answer);

struct ForgetTokens {
    static constexpr const char* ask = "forget";
    struct Answer {};
};
void to_json(nlohmann::json& json, const ForgetTokens& question);
void read_fields(ObjectReader& reader, ForgetTokens& question);
void to_json(nlohmann::json& json, const ForgetTokens::Answer& answer);
void read_fields(ObjectReader& reader, ForgetTokens::Answer& answer);

} // namespace dockdist::wire
