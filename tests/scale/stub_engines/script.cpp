#include "scale/stub_engines/script.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace dockdist::scale {
namespace {

Rule parse_rule(const nlohmann::json& text) {
    static const std::map<std::string, Rule::Do> words{
        {"delay", Rule::Do::delay}, {"hang", Rule::Do::hang},     {"refuse", Rule::Do::refuse},
        {"drop", Rule::Do::drop},   {"vanish", Rule::Do::vanish}, {"fail", Rule::Do::fail}};
    for (const auto& [name, value] : text.items()) {
        static const std::set<std::string> known{"do", "hosts", "call", "times", "ms", "status", "message"};
        if (!known.contains(name)) {
            throw std::runtime_error("a rule has no `" + name + "`");
        }
    }
    Rule rule;
    const auto what = words.find(text.at("do").get<std::string>());
    if (what == words.end()) {
        throw std::runtime_error("a rule does not know `" + text.at("do").get<std::string>() + "`");
    }
    rule.what = what->second;
    rule.hosts = text.value("hosts", std::set<int>());
    rule.call = text.value("call", "");
    rule.times = text.value("times", -1);
    rule.pause = std::chrono::milliseconds(text.value("ms", 0));
    rule.status = text.value("status", 500);
    rule.message = text.value("message", "the script says so");
    return rule;
}

} // namespace

std::vector<Rule> Script::met(int host, std::string_view call) {
    std::vector<Rule> result;
    for (auto& rule : rules) {
        if (rule.times != 0 && rule.is_of(host) && (rule.call.empty() || rule.call == call)) {
            rule.times -= rule.times > 0 ? 1 : 0;
            result.push_back(rule);
        }
    }
    return result;
}

bool Script::refuses(int host) const {
    return std::ranges::any_of(
        rules, [&](const Rule& rule) { return rule.what == Rule::Do::refuse && rule.is_of(host); });
}

Script parse_script(const nlohmann::json& text) {
    Script script;
    script.round_trip =
        std::chrono::microseconds(static_cast<std::int64_t>(text.value("round_trip_ms", 0.0) * 1000));
    script.bandwidth = text.value("bandwidth", std::uint64_t{0});
    script.near = text.value("near", std::set<int>());
    for (const auto& rule : text.value("rules", nlohmann::json::array())) {
        script.rules.push_back(parse_rule(rule));
    }
    return script;
}

} // namespace dockdist::scale
