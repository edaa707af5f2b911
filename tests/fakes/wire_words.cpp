#include "fakes/wire_words.hpp"

#include "fakes/check_lines.hpp"
#include "shared/wire/check.hpp"
#include "shared/wire/check_facts.hpp"
#include "shared/wire/check_links.hpp"
#include "shared/wire/check_mounts.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/probe.hpp"
#include "shared/wire/setup.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

using nlohmann::json;

std::vector<WireWord> join_words() {
    const wire::NodeRecord record{
        .node = "node-0",
        .rank = 1,
        .address = "10.0.0.1",
        .interface = "eth0",
        .asked = "10.0.0.0/24",
        .hostname = "gpu-0",
        .host = "4026531840",
        .ssh_port = 2222,
        .slots = 8,
        .gpus = 8,
        .user = "root",
        .user_key = "ssh-ed25519 AAAA",
        .host_key = "ssh-ed25519 BBBB",
        .rdma = {.use = "required",
                 .inside = true,
                 .nccl = "2.19.3",
                 .yours = {"NCCL_IB_HCA"},
                 .ports = {{.device = "mlx5_0",
                            .link = "Ethernet",
                            .state = "ACTIVE",
                            .mbps = 200000,
                            .netdev = "eth2",
                            .pci = "0000:3b:00.0",
                            .gids = {{.index = 3, .address = "10.1.0.5", .prefix = 24, .netdev = "eth2"}}}}},
        .clock_ms = 7};
    return {{"parse_join_request", json(wire::JoinRequest{.cluster = "c",
                                                          .node = "n",
                                                          .rank = 1,
                                                          .address = "10.0.0.1",
                                                          .interface = "eth0",
                                                          .subnets = {"10.0.0.0/24"},
                                                          .derived = true,
                                                          .asked = "10.0.0.0/24",
                                                          .ssh_port = 2222,
                                                          .slots = 8,
                                                          .user = "u",
                                                          .mounts = {"/data"},
                                                          .settings = "0123456789abcdef",
                                                          .nodes = 2,
                                                          .nodes_beside = 1})
                                       .dump()},
            {"parse_join_message", wire::hello_line(record)},
            {"parse_join_message", wire::want_line()},
            {"parse_join_message", wire::ready_line()},
            {"parse_join_message", wire::ready_record_line(record, "0123456789abcdef")},
            {"parse_join_message", wire::error_line({ErrorKind::node, "", "m", "h"}, {{"n", "c"}})},
            {"parse_members", wire::members_list({.cluster = "c", .nodes = {record, record}})},
            {"parse_members_notice",
             wire::members_notice_line(
                 {.sha256 = "ab",
                  .first = 2,
                  .giver = record,
                  .settings = {.env = {{"A", "1"}},
                               .unset = {"B"},
                               .workdir = "/w",
                               .history = {.keep_bytes = 1, .for_ms = 2, .logs_for_ms = 3}}})},
            {"parse_kept_history",
             wire::to_text(wire::KeptHistory{.bytes = 7, .jobs = {"night", "night.run2"}})}};
}

std::vector<WireWord> check_words() {
    std::vector<WireWord> words{
        {"parse_question", wire::question_line(wire::Hello{})},
        {"parse_answer", wire::answer_line<wire::Hello>(wire::Hello::Answer{.pid = 7})},
        {"parse_question", wire::question_line(wire::ForgetTokens{})},
        {"parse_answer", wire::answer_line<wire::ForgetTokens>(wire::ForgetTokens::Answer{})},
        {"parse_answer", wire::answer_line("forget", Error{ErrorKind::node, "", "m", "h"})},
        {"parse_question", wire::question_line(wire::LogInsQuestion{.peers = {"node-1"}})},
        {"parse_answer", wire::answer_line<wire::LogInsQuestion>(wire::LogInsQuestion::Answer{
                             .logins = {{.peer = "node-1", .ms = 3, .message = "refused"}}})}};
    for (auto& line : check_lines()) {
        const bool asks = wire::parse_question(line.text).has_value();
        words.push_back({asks ? "parse_question" : "parse_answer", std::move(line.text)});
    }
    using enum wire::LinkOutcome;
    wire::LinksMeet::Answer met;
    for (const auto outcome : {open, refused, dropped, unreachable, silent, large_lost, failed}) {
        met.links.push_back({.node = "node-1", .outcome = outcome, .message = "m", .latency_us = 1.5});
    }
    words.push_back({"parse_answer", wire::answer_line<wire::LinksMeet>(met)});
    return words;
}

} // namespace

std::vector<WireWord> wire_words() {
    const std::string digest(wire::setup_digest_size, 'a');
    std::vector<WireWord> words{
        {"parse_probe_message", wire::probe_line(3, {{"rank", 11}})},
        {"parse_probe_message",
         wire::probe_end_line(1, {.code = 137, .signal = 9, .message = "m", .hint = "h"})},
        {"parse_probe_message", wire::rdma_line({"mlx5_0"})},
        {"parse_setup_line", wire::to_text(wire::SetupLine{.run = "pip install x",
                                                           .user = "1000",
                                                           .target = "/workspace",
                                                           .digest = digest,
                                                           .again = digest})},
        {"parse_setup_state", wire::to_text(wire::SetupState{.digest = digest})},
        {"parse_setup_state", wire::to_text(wire::SetupState{.digest = digest, .done = true})}};
    for (auto some : {join_words(), check_words(), job_words(), relay_words(), stream_words()}) {
        std::ranges::move(some, std::back_inserter(words));
    }
    return words;
}

} // namespace dockdist
