#include "client/check/software.hpp"
#include "facts_builder.hpp"

#include <doctest/doctest.h>

namespace software_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

namespace {

void set_python(CheckedNode& node, const char* lines) {
    node.facts.programs.insert_or_assign("python", wire::ProgramOutput{0, lines});
}

Result<ImageDetails> image(std::vector<std::string> layers) {
    return ImageDetails{.layers = std::move(layers)};
}

} // namespace

TEST_CASE("versions that agree are one row") {
    auto nodes = cluster_facts(4);
    for (auto& node : nodes) {
        set_python(node, "python 3.11.9\ntorch 2.6.0+cu124\ndeepspeed \naccelerate 1.15.0\nhorovod \n"
                         "nvidia-nccl-cu12 2.21.5\ncuda 12.4\n");
        node.facts.programs.insert_or_assign(
            "mpirun", wire::ProgramOutput{0, "mpirun (Open MPI) 5.0.7\n\nReport bugs\n"});
        node.facts.nccl->version = "2.18.3"; // torch loads its own package's
    }
    const auto rows = judge_versions(nodes);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "all nodes");
    CHECK(rows[0].text ==
          "Python 3.11.9, torch 2.6.0+cu124, NCCL 2.21.5, CUDA 12.4, Open MPI 5.0.7, accelerate 1.15.0");
}

TEST_CASE("what an image's programs say beside their versions is none, and no difference") {
    auto nodes = cluster_facts(2);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto at = std::to_string(i);
        // A sitecustomize that speaks and fails at its end; what NVIDIA's and others' images say at each
        // start.
        const auto said = "WARNING: The driver was not detected, see 0x7f" + at + "\n/usr/lib/site.py:" + at +
                          ": DeprecationWarning: x\npython 3.11.9\ntorch 2.6.0\nException ignored in: at 0x" +
                          at + "\n";
        nodes[i].facts.programs.insert_or_assign("python", wire::ProgramOutput{120, said});
        nodes[i].facts.programs.insert_or_assign(
            "mpirun", wire::ProgramOutput{0, "WARNING: 2.0." + at +
                                                 " interfaces\nIntel(R) MPI Library, Version 2021.11\n"});
    }
    const auto rows = judge_versions(nodes);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].text == "Python 3.11.9, torch 2.6.0, Intel(R) MPI Library, Version 2021.11");
}

TEST_CASE("a version that differs names the odd node; what ranks must agree in fails") {
    auto nodes = cluster_facts(3);
    for (auto& node : nodes) {
        set_python(node, "python 3.11.9\ntorch 2.6.0\n");
    }
    set_python(nodes[1], "python 3.12.1\ntorch 2.5.1\n");
    const auto rows = judge_versions(nodes);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].state == State::warn);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text == "Python 3.12.1, and node-0, node-2 have Python 3.11.9");
    CHECK(rows[1].state == State::fail);
    CHECK(rows[1].text == "torch 2.5.1, and node-0, node-2 have torch 2.6.0");
    CHECK(rows[1].hint.starts_with("give every node the same image"));
}

TEST_CASE("what one node lacks is told, what all lack is not") {
    auto nodes = cluster_facts(2);
    CHECK(judge_versions(nodes).empty());
    nodes[0].facts.nccl->version = "2.21.5";
    nodes[1].facts.programs.insert_or_assign("python",
                                             Error{ErrorKind::timeout, "", "no end within 16 s", ""});
    auto rows = judge_versions(nodes);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text == "no NCCL, and node-0 has NCCL 2.21.5");
    nodes[1].facts.nccl->version = "2.21.5";
    CHECK(judge_versions(nodes).at(0).text == "NCCL 2.21.5");
    nodes.pop_back();
    CHECK(judge_versions(nodes).at(0).subject == "node-0");
}

TEST_CASE("the toolkit's OpenSSH is told, and who has another") {
    auto nodes = cluster_facts(3);
    for (auto& node : nodes) {
        node.facts.programs.insert_or_assign(
            "openssh", wire::ProgramOutput{0, "OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3\n"});
    }
    nodes[2].facts.programs.insert_or_assign("openssh", wire::ProgramOutput{127, "not found"});
    const auto rows = judge_openssh(nodes);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].state == State::pass);
    CHECK(rows[0].text == "OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3");
    CHECK(rows[2].state == State::warn);
    CHECK(rows[2].subject == "node-2");
    CHECK(rows[2].text == "no version of the toolkit's OpenSSH, and node-0, node-1 have OpenSSH_9.2p1 "
                          "Debian-2+deb12u10, OpenSSL 3");
    CHECK(rows[2].hint.find("dockdist up") != std::string::npos);
}

TEST_CASE("images are compared by their layers, and by how their containers begin") {
    const NodeName a("node-0");
    const NodeName b("node-1");
    const NodeName c("node-2");
    auto rows = judge_images({{a, image({"1", "2"})}, {b, image({"1", "2"})}});
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "all nodes");
    CHECK(rows[0].text == "the same image");

    rows = judge_images({{a, image({"1", "2"})}, {b, image({"1", "3"})}, {c, image({"1", "2"})}});
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].state == State::warn);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text == "another image than on node-0, node-2");
    CHECK(rows[1].subject == "node-0, node-2");

    auto other = image({"1", "2"});
    other->entrypoint = {"/entry"};
    rows = judge_images({{a, image({"1", "2"})}, {b, image({"1", "2"})}, {c, other}});
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].subject == "node-2");
    CHECK(rows[0].text == "another image than on node-0, node-1");

    rows = judge_images({{a, image({"1"})}, {b, Error{ErrorKind::not_found, "node-1", "no such image", ""}}});
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].text == "the image of the running node is not known: no such image");
    CHECK(judge_images({{a, image({"1"})}}).at(0).text == "no other node to compare with");
    CHECK(judge_images({}).empty());
}

} // namespace software_test
