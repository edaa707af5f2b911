#include "client/export/kubernetes/names.hpp"
#include "client/export/kubernetes/options.hpp"
#include "client/export/kubernetes/references.hpp"

#include <doctest/doctest.h>

namespace names_test {

using namespace dockdist;

namespace {

TEST_CASE("names: a set's is a DNS label, and so are its pods'") {
    CHECK(set_name("train", 2).value() == "train");
    CHECK(set_name("GPT_2.large--v3-", 2).value() == "gpt-2-large-v3");
    CHECK(set_name("Größe", 2).value() == "gr-e");
    CHECK(set_name(std::string(48, 'a'), 10).value().size() == 48); // -node-0-9-abcde
    const auto long_name = set_name(std::string(48, 'a'), 11);
    REQUIRE(long_name.has_error());
    CHECK(long_name.error().message ==
          "`" + std::string(48, 'a') +
              "` is too long for the name of a JobSet of 11 pods, whose own names are made of it");
    CHECK(long_name.error().hint == "give it one of at most 47 letters with --name");
    CHECK(pod_address(set_name(std::string(47, 'a'), 11).value(), 10).find('.') +
              std::string("-abcde").size() ==
          63);
    for (const auto* name : {"2b", "...", "_", "", "大"}) {
        const auto refused = set_name(name, 1);
        REQUIRE(refused.has_error());
        CHECK(refused.error().kind == ErrorKind::usage);
        CHECK(refused.error().hint == "give it one with --name");
    }
}

TEST_CASE("names: Kubernetes' own rules") {
    CHECK(is_qualified_name("nvidia.com/gpu.product"));
    CHECK(is_qualified_name("pool"));
    CHECK(!is_qualified_name("a/b/c"));
    CHECK(!is_qualified_name("/b"));
    CHECK(!is_qualified_name("a/"));
    CHECK(!is_qualified_name("-a"));
    CHECK(!is_qualified_name("A.com/b"));
    CHECK(is_label_value(""));
    CHECK(is_label_value("H100_SXM.5"));
    CHECK(!is_label_value("a b"));
    CHECK(!is_label_value(std::string(64, 'a')));
    CHECK(claim_name("Data_sets.v1") == "data-sets-v1");
}

TEST_CASE("references: Kubernetes makes the same text of it again") {
    CHECK(escape_references("$(date) $HOME ${X} $$ $") == "$$(date) $HOME ${X} $$$ $");
    CHECK(escape_references("$$(x)") == "$$$$(x)");
    CHECK(escape_references("$$") == "$$$");
}

TEST_CASE("options: what people write") {
    const auto options = read_options({.kind = "trainjob",
                                       .labels = {"kueue.x-k8s.io/queue-name=training"},
                                       .tolerations = {"a", "b:NoExecute", "c=d:NoSchedule"},
                                       .rdma = {"rdma/hca", "rdma/other=8"}});
    REQUIRE(options.has_value());
    CHECK(options->kind == KubernetesOptions::Kind::trainjob);
    CHECK(options->labels.at("kueue.x-k8s.io/queue-name") == "training");
    CHECK(options->tolerations[1].effect == "NoExecute");
    CHECK(options->tolerations[2].value == "d");
    CHECK(options->rdma[0].count == 1);
    CHECK(options->rdma[1].count == 8);
}

TEST_CASE("options: what Kubernetes would refuse is told by its option") {
    const auto where = [](const KubernetesWords& words) {
        const auto options = read_options(words);
        return options ? std::string("none") : options.error().where + ": " + options.error().message;
    };
    CHECK(where({.name_space = "a.b"}) ==
          "--namespace: `a.b` is not a namespace: a-z, 0-9 and `-`, 63 letters at most");
    CHECK(where({.secret = "A"}) == "--secret: `A` is not a name of Kubernetes: a-z, 0-9, `-` and `.`");
    CHECK(where({.labels = {"a"}}) ==
          "--label: `a` is not KEY=VALUE of a label, such as example.com/pool=training");
    CHECK(where({.node_selector = {"a b=c"}}).starts_with("--node-selector: `a b=c` is not"));
    CHECK(where({.tolerations = {"a:Sometimes"}}).starts_with("--toleration: `a:Sometimes` is not"));
    CHECK(where({.rdma = {"hca"}}).starts_with("--rdma-resource: `hca` is not"));
    CHECK(where({.rdma = {"rdma/hca=0"}}).starts_with("--rdma-resource: `rdma/hca=0` is not"));
}

} // namespace
} // namespace names_test
