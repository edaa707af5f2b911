// What engines, registries' helpers and people wrote may be anything: it ends in an error or a value.
#include "client/image/docker_config.hpp"
#include "client/image/docker_ignore.hpp"
#include "client/image/saved_image.hpp"
#include "fakes/damage.hpp"

#include <doctest/doctest.h>

#include <string>

namespace fuzz_test {

using namespace dockdist;

namespace {

constexpr int rounds = 3000;

} // namespace

TEST_CASE("damaged descriptions of an image never break what reads them") {
    const std::string digest = "sha256:" + std::string(64, 'a');
    const std::string manifest =
        R"([{"Config":"ab.json","RepoTags":["x:1"],"Layers":["1/layer.tar","2/l"]}])";
    const std::string config =
        R"({"os":"linux","rootfs":{"type":"layers","diff_ids":[")" + digest + R"("]}})";
    const SavedImage image{.config = {.digest = digest}, .layers = {{.digest = digest}}};
    Damage damage;
    int parsed = 0;
    int checked = 0;
    for (int i = 0; i < rounds; ++i) {
        parsed += parse_save_manifest(damage.apply(manifest)).has_value() ? 1 : 0;
        checked += check_layers(image, damage.apply(config)).has_value() ? 1 : 0;
    }
    CHECK(parsed > 0);
    CHECK(checked > 0);
}

TEST_CASE("damaged logins never break what reads them") {
    const std::string config = R"({"auths":{"r.example:5000":{"auth":"dTpw"},"b":{"identitytoken":"t"}},)"
                               R"("credHelpers":{"c":"x"},"credsStore":"desktop"})";
    const std::string answer = R"({"ServerURL":"r","Username":"<token>","Secret":"s"})";
    Damage damage;
    int parsed = 0;
    for (int i = 0; i < rounds; ++i) {
        if (const auto read = parse_docker_config(damage.apply(config))) {
            ++parsed;
            (void)helper_for(*read, "r.example:5000");
            (void)login_in_file(*read, "r.example:5000");
        }
        parsed += parse_helper_answer(damage.apply(answer)).has_value() ? 1 : 0;
    }
    CHECK(parsed > 0);
}

TEST_CASE("damaged rules of a .dockerignore never break what reads them") {
    const std::string rules = "# all but\n*\n!src/**/*.py\n[a-z]?x\n\\!odd\n**/.git\n/a/../b/ \n";
    Damage damage;
    int parsed = 0;
    for (int i = 0; i < rounds; ++i) {
        if (const auto read = DockerIgnore::parse(damage.apply(rules), ".dockerignore")) {
            ++parsed;
            (void)read->ignored("src/a/b.py");
            (void)read->may_keep_below("src");
        }
    }
    CHECK(parsed > 0);
}

} // namespace fuzz_test
