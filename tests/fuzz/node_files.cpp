// What nodes tell of themselves when they join, and what becomes of it on every node: hostfiles, ssh's files,
// the launchers' command lines. Members that pass the check bring no line, word or option of their own.
#include "node/boot/node_files.hpp"

#include "fuzz/fuzz.hpp"
#include "node/session/session.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/launcher.hpp"

#include <array>

namespace {

using namespace dockdist;
using namespace dockdist::node;

wire::Members read(const std::vector<std::string>& said) {
    wire::Members members{.cluster = said[0]};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto at = [&](std::size_t field) { return said[1 + i * 7 + field]; };
        members.nodes.push_back({.node = at(0),
                                 .rank = static_cast<int>(i),
                                 .address = at(1),
                                 .interface = at(2),
                                 .hostname = at(3),
                                 .ssh_port = 2222,
                                 .slots = 2,
                                 .gpus = 2,
                                 .user = at(4),
                                 .user_key = at(5),
                                 .host_key = at(6)});
    }
    return members;
}

std::ptrdiff_t lines_in(std::string_view text) {
    return std::ranges::count(text, '\n');
}

void text_of_one(const std::string& text, std::ptrdiff_t lines, std::string_view what) {
    fuzz::require(fuzz::has_no_controls(text, true), "no file of a node has controls in it");
    fuzz::require(lines_in(text) == lines, what);
}

void files(const wire::Members& members) {
    const auto nodes = static_cast<std::ptrdiff_t>(members.nodes.size());
    const auto& self = members.nodes.front();
    text_of_one(hostfile(members), nodes, "a node is a line of the hostfile");
    text_of_one(hydra_hostfile(members), nodes, "a node is a line of Hydra's hostfile");
    text_of_one(wcoll(members), nodes, "a node is a line of pdsh's list");
    text_of_one(authorized_keys(members), nodes, "a node is a line of authorized_keys");
    for (const auto& line : split(hostfile(members), '\n')) {
        fuzz::require(line.empty() || line.find(' ') == line.rfind(' '),
                      "a line of the hostfile is a name and its slots");
    }
    fuzz::require(fuzz::has_no_controls(known_hosts(members), true), "no file of a node has controls in it");
    // As many lines as two sound nodes give.
    auto sound = members;
    const std::array<const char*, 2> names{"node-0", "node-1"};
    const std::array<const char*, 2> addresses{"10.0.0.1", "10.0.0.2"};
    for (std::size_t i = 0; i < sound.nodes.size(); ++i) {
        sound.nodes[i] = {.node = names.at(i),
                          .rank = static_cast<int>(i),
                          .address = addresses.at(i),
                          .interface = "eth0",
                          .hostname = names.at(i),
                          .ssh_port = 2222,
                          .slots = 2,
                          .gpus = 2,
                          .user = "root",
                          .user_key = "ssh-ed25519 AAAA",
                          .host_key = "ssh-ed25519 AAAA"};
    }
    const auto sound_config = ssh_config(sound.nodes.front(), sound);
    text_of_one(sshd_config(self, 2, 1), lines_in(sshd_config(sound.nodes.front(), 2, 1)),
                "sshd_config has no further line");
    const auto config = ssh_config(self, members);
    fuzz::require(fuzz::has_no_controls(config, true), "no file of a node has controls in it");
    fuzz::require(lines_in(config) <= lines_in(sound_config),
                  "ssh_config has no further line"); // one a node less without IPv6's
    for (const auto& line : split(config, '\n')) {
        const auto begin = line.substr(0, line.find(' ', line.find_first_not_of(' ')));
        fuzz::require(sound_config.find("\n" + begin + " ") != std::string::npos ||
                          sound_config.starts_with(begin) || line.empty(),
                      "ssh_config has no other options");
    }
    for (const auto& [name, value] : node_variables(self, members)) {
        fuzz::require(fuzz::has_no_controls(name + value), "no variable has controls in it");
    }
    (void)common_subnet(members);
    fuzz::require(config.find("\nHost " + self.node + " ") != std::string::npos ||
                      config.find("\nHost " + self.node + "\n") != std::string::npos,
                  "a node is found in ssh_config");
}

// What every program and package of a sound image answers.
wire::LaunchFacts answers_to(const std::vector<wire::Question>& questions) {
    wire::LaunchFacts facts{.ports = {29500, 29501}};
    for (const auto& question : questions) {
        facts.answers.push_back({.name = question.name,
                                 .output = "python 3.11.9\ntorch 2.6.0\ndeepspeed 0.16.0\naccelerate "
                                           "1.15.0\nhorovod 0.28.1\nray 2.52.0\n"
                                           "mpirun (Open MPI) 5.0.7\n"});
    }
    return facts;
}

void launches(const wire::Members& members, const std::vector<std::string>& words) {
    LaunchRequest unasked{
        .job = JobId("j"), .command = words, .ports = {Port{29500}, Port{29501}, Port{29502}, Port{29503}}};
    for (const auto& node : members.nodes) {
        unasked.nodes.push_back({.name = NodeName(node.node),
                                 .address = node.address,
                                 .interface = node.interface,
                                 .slots = node.slots,
                                 .gpus = node.gpus,
                                 .ports = {Port{29500}, Port{29501}}});
    }
    for (const auto& launcher : launchers()) {
        auto request = unasked;
        const std::vector<wire::LaunchFacts> facts(members.nodes.size(),
                                                   answers_to(questions(launcher, request)));
        if (!check_request(launcher, request) || !check_slots(launcher, request) ||
            !take_answers(launcher, request, facts).empty()) {
            continue;
        }
        const auto launches = launcher.launch(request);
        if (!launches) {
            fuzz::require(fuzz::has_no_controls(launches.error().message), "an error has no controls");
            continue;
        }
        fuzz::require(launches->size() == members.nodes.size(), "every node has its part");
        for (const auto& launch : *launches) {
            for (const auto& [name, value] : launch.start.env) {
                fuzz::require(!name.empty() &&
                                  name.find_first_of(std::string_view("=\0", 2)) == std::string::npos &&
                                  value.find('\0') == std::string::npos,
                              "a variable is one variable");
            }
            for (const auto& [path, content] : launch.start.files) {
                fuzz::require(path.starts_with(wire::job_scratch("j") + "/"),
                              "files stand in the job's own folder");
                if (path.find("hostfile") != std::string::npos) {
                    fuzz::require(lines_in(content) <= static_cast<std::ptrdiff_t>(members.nodes.size()),
                                  "a node is a line of a hostfile");
                }
            }
            const auto back = split_words(shell_join(launch.start.argv));
            fuzz::require(back && *back == launch.start.argv,
                          "a command line that is shown is the one that runs");
        }
    }
}

} // namespace

void fuzz::one_input(std::string_view input) {
    const auto said = parts(input.substr(0, 20'000), 18);
    const auto members = read(said);
    if (const auto sound = check_members(members); !sound) {
        require(has_no_controls(sound.error().message), "an error has no controls");
        return;
    }
    files(members);
    std::vector<std::string> words;
    for (std::size_t i = 15; i < said.size(); ++i) {
        if (said[i].find('\0') == std::string::npos && !said[i].empty()) {
            words.push_back(said[i]);
        }
    }
    if (!words.empty()) {
        launches(members, words);
    }
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    const std::string key =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"python", "train.py", "--lr 1"}, {"train.py", "a'b", "$x"}, {"-m", "pkg", "x"}}) {
        std::vector<std::string> said{"vision", "node-0",   "10.0.0.1", "eth0",  "gpu-0", "root", key, key,
                                      "node-1", "10.0.0.2", "eth1",     "gpu-1", "root",  key,    key};
        said.insert(said.end(), command.begin(), command.end());
        all.push_back(of_parts(said));
        said[2] = "fe80::1";
        said[10] = "ib0";
        all.push_back(of_parts(said));
    }
    return all;
}
