#include "client/spec/load_spec.hpp"
#include "client/spec/names.hpp"
#include "shared/core/text.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

namespace names_test {

using namespace dockdist;
using test::environment;

TEST_CASE("image references are those that docker pull takes") {
    const std::string digest = "sha256:" + std::string(64, 'a');
    for (const std::string good :
         {"ubuntu", "ubuntu:22.04", "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel",
          "nvcr.io/nvidia/pytorch:25.01-py3", "localhost:5000/a/b:c", "localhost/a", "a__b/c-d.e",
          "[::1]:5000/a", "1234567890.dkr.ecr.us-east-1.amazonaws.com/a"}) {
        CAPTURE(good);
        CHECK(is_image_reference(good));
        CHECK(is_image_reference(good + "@" + digest));
    }
    CHECK(is_image_reference(digest));
    for (const std::string bad :
         {"", " ", "a b", "Ubuntu", "a:", ":a", "a/", "/a", "a//b", "a@sha256:12", "a:b:c", "-a", "a:.b",
          "--privileged", "a\nb", "a?b", "../a", "http://a/b"}) {
        CAPTURE(bad);
        CHECK_FALSE(is_image_reference(bad));
    }
}

TEST_CASE("peer addresses are host names and IP addresses without a port") {
    for (const std::string good : {"10.0.0.1", "gpu-1.lab", "fe80::1%eth0", "::1", "2001:db8::7", "a"}) {
        CAPTURE(good);
        CHECK(is_peer_address(good));
    }
    for (const std::string bad : {"10.0.0.1:22", "10.0.0", "300.1.1.1", "0.0.0.0", "::", "-a", "a b", "a\nb",
                                  "a..b", "[::1]", "a/b", "a;b"}) {
        CAPTURE(bad);
        CHECK_FALSE(is_peer_address(bad));
    }
}

TEST_CASE("any folder's name becomes a plain name") {
    CHECK(to_cluster_name("vision") == "vision");
    CHECK(to_cluster_name("My_Project v2") == "my-project-v2");
    CHECK(to_cluster_name("--x--") == "x");
    CHECK(to_cluster_name("Übung") == "bung");
    CHECK(to_cluster_name("a..b") == "a.b");
    CHECK(to_cluster_name("") == "cluster");
    CHECK(to_cluster_name("___") == "cluster");
    CHECK(to_cluster_name(std::string(39, 'a') + "-b") == std::string(39, 'a'));
    for (const std::string odd : {"a.-b", "-.a.-", "...", "a-", "日本語"}) {
        CAPTURE(odd);
        CHECK(is_plain_name(to_cluster_name(odd)));
    }
}

TEST_CASE("which folders' names name a cluster") {
    for (const std::string good : {"vision", "My_Project v2", "a..b", "7"}) {
        CAPTURE(good);
        CHECK(names_a_cluster(good));
    }
    for (const std::string bad :
         {"проект", "данные", "проект-1", "Übung", "café", "日本語", "", "___", "-", "."}) {
        CAPTURE(bad);
        CHECK_FALSE(names_a_cluster(bad));
    }
    CHECK(names_a_cluster(std::string(40, 'a')));
    CHECK_FALSE(names_a_cluster(std::string(40, 'a') + "-second"));
}

TEST_CASE("a folder whose name is no name of its own asks for one") {
    const auto loaded = [](const std::string& folder, const std::string& more) {
        return load_spec("image: a\nhosts: [ssh://h]\n" + more, "/home/ada/" + folder + "/cluster.yaml",
                         environment());
    };
    for (const std::string folder : {"проект", "данные"}) {
        const auto asks = loaded(folder, "");
        REQUIRE(asks.errors.size() == 1);
        CHECK(asks.errors[0].message ==
              "`name` is missing, and the folder's name, `" + folder + "`, cannot be turned into one");
        CHECK(asks.errors[0].hint ==
              "write `name: …` with a-z, 0-9 and `-`; a cluster that is up from here is `name: cluster`");
        const auto told = loaded(folder, "name: vision\n");
        CHECK(told.errors.empty());
        CHECK(told.spec.name.str() == "vision");
        CHECK(loaded(folder, "name: Bad/\n").errors.size() == 1);
    }
    CHECK(loaded("My_Project v2", "").spec.name.str() == "my-project-v2");
}

} // namespace names_test
