#include "fakes/check_lines.hpp"

#include "shared/wire/check.hpp"
#include "shared/wire/check_facts.hpp"
#include "shared/wire/check_links.hpp"
#include "shared/wire/check_mounts.hpp"

namespace dockdist {
namespace {

wire::NodeFacts filled_facts() {
    wire::NodeFacts facts;
    facts.system->disk = wire::Room{Bytes{1}, Bytes{2}};
    facts.system->governors = {{"powersave", 8}};
    facts.system->rdma = {{.device = "mlx5_0", .port = 1, .state = "ACTIVE"}};
    facts.system->xids = {{.gpu = "0000:3b:00", .code = 79}};
    facts.network = wire::NetworkFacts{.interface = "eth0", .there = true, .up = true, .mtu = 1500};
    facts.names->addresses = {{"node-0", {"10.0.0.1"}}};
    facts.nccl = Error{ErrorKind::timeout, "", "no end", "look"};
    facts.logins->push_back({.peer = "node-1", .ms = 3, .message = "refused"});
    facts.programs.insert_or_assign("python", wire::ProgramOutput{.code = 1, .output = "\xff"});
    facts.mounts.insert_or_assign(
        "/data", wire::MountFacts{.folder = true, .why = "x", .listing = "1 2", .source = "s:/e /"});
    return facts;
}

} // namespace

std::vector<CheckLine> check_lines() {
    const std::string token(wire::link_token_size, 'a');
    const wire::LinkPeer peer{.node = "node-1", .address = "10.0.0.2", .port = 20001};
    wire::LookForTokens::Answer seen;
    seen.seen.insert_or_assign("/data", std::vector<std::string>{"node-0"});
    using enum CheckLine::About;
    return {
        {facts, wire::question_line(wire::FactsQuestion{.peers = {"node-1"},
                                                        .programs = {{.name = "x", .argv = {"x"}}},
                                                        .mounts = {"/d"},
                                                        .token = "a1"})},
        {facts, wire::answer_line<wire::FactsQuestion>(filled_facts())},
        {mounts,
         wire::question_line(wire::LookForTokens{.mounts = {"/d"}, .token = "a1", .nodes = {"node-0"}})},
        {mounts, wire::answer_line<wire::LookForTokens>(seen)},
        {links, wire::question_line(wire::LinksMeet{.token = token, .peers = {peer}})},
        {links, wire::answer_line<wire::LinksMeet>(wire::LinksMeet::Answer{
                    .links = {{.node = "node-1", .outcome = wire::LinkOutcome::silent, .latency_us = 1.5}}})},
        {links, wire::question_line(wire::LinksSend{.token = token, .peer = peer})},
        {links,
         wire::answer_line<wire::LinksSend>(wire::LinksSend::Answer{.bytes_per_second = 1.5, .segments = 2})},
        {links, wire::question_line(wire::LinksListen{.token = token})},
        {links, wire::answer_line<wire::LinksListen>(wire::LinksListen::Answer{.port = 20000})}};
}

} // namespace dockdist
