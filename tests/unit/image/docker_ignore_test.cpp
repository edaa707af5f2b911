#include "client/image/docker_ignore.hpp"
#include "fakes/show.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace docker_ignore_test {

using namespace dockdist;

namespace {

DockerIgnore rules_of(const std::string& text) {
    auto rules = DockerIgnore::parse(text, ".dockerignore");
    REQUIRE(rules.has_value());
    return *rules;
}

bool ignored(const std::string& text, const std::string& name) {
    return rules_of(text).ignored(name);
}

struct Case {
    std::string pattern{}, name{};
    bool matches = false;
};

} // namespace

TEST_CASE("patterns match as they do for Docker's own client") {
    const std::vector<Case> cases{
        {"a.py", "a.py", true},
        {"a.py", "b/a.py", false}, // rooted, unlike git's
        {"/a.py", "a.py", true},
        {"a/", "a", true},
        {"a/", "a/b/c", true},
        {"./a//b/../c", "a/c", true},
        {"../a", "a", false},
        {"*", "a", true},
        {"*", "a/b", true}, // by its folder
        {"*.py", "a.py", true},
        {"*.py", "d/a.py", false},
        {"*/*.py", "d/a.py", true},
        {"*/*.py", "a.py", false},
        {"a*b", "a/b", false},
        {"a?b", "a/b", false},
        {"a?b", "axb", true},
        {"a?b", "ab", false},
        {"a?b", "a☺b", true},
        {"a???b", "a☺b", false},
        {"temp?", "temp", false},
        {"**", "d/file", true},
        {"**/", "file", true},
        {"**/**", "d/file", true},
        {"d/**", "d", false},
        {"d/**", "d/e/file", true},
        {"**/d", "d", true},
        {"**/d", "x/y/d/file", true},
        {"**/d", "xd", false},
        {"**d", "xd", true},
        {"**d", "x/yd", true},
        {"**/d/*", "x/d/file", true},
        {"**/d/**", "x/d/e/file", true},
        {"**/file*txt", "d/e/file.txt", true},
        {"**/**/*.txt", "file.txt", true},
        {"**/**/*.txt2", "d/file.txt", false},
        {"a**/*.txt", "a/d/file.txt", true},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "ab", false},
        {"**/.foo", "bar.foo", false},
        {"a[b-d]e", "ace", true},
        {"a[b-d]e", "aae", false},
        {"a[^b-d]e", "aze", true},
        {"a[!b]e", "a!e", true}, // no negation there
        {"[\\]a]", "]", true},
        {"[x\\-]", "-", true},
        {"[x\\-]", "z", false},
        {"[a-ζ]*", "α", true},
        {"a\\*b", "a*b", true},
        {"a\\*b", "axb", false},
        {"a(b).|)$+{", "a(b).|)$+{", true},
        {"abc.def", "abcZdef", false},
        {".", "a", false},
        {"/", "a", false},
        {"", "a", false},
        {"# a", "# a", false},
        {" # a", "# a", true}, // a comment begins with the line
        {"  a \t", "a", true},
        {"a b", "a b", true},
        {"a\r", "a", true},
        {"\xEF\xBB\xBF"
         "a",
         "a", true},
        {"\xFF*", "\xFFx", true}, // names need not be UTF-8
    };
    for (const auto& one : cases) {
        CAPTURE(one.pattern);
        CAPTURE(one.name);
        CHECK(ignored(one.pattern, one.name) == one.matches);
    }
}

TEST_CASE("the last rule that matches decides, also for what lies below a folder") {
    CHECK(!ignored("*.go\n!a.go", "a.go"));
    CHECK(ignored("!a.go\n*.go", "a.go"));
    CHECK(!ignored("docs\n!docs/README.md", "docs/README.md"));
    CHECK(ignored("docs\n!docs/README.md", "docs/other.md"));
    CHECK(!ignored("docs/*\n! docs/README.md", "docs/README.md"));
    CHECK(!ignored("**\n!util/web", "util/web/foo"));
    CHECK(ignored("**\n!util/web\nutil/web/foo", "util/web/foo"));
    CHECK(!ignored("*\n!**/*.py", "a/b/c.py"));
    CHECK(ignored("*.md\n!README*.md\nREADME-secret.md", "README-secret.md"));
}

TEST_CASE("a folder that is left out is looked into only where a later rule may bring something back") {
    CHECK(!rules_of("docs").may_keep_below("docs"));
    CHECK(rules_of("docs\n!docs/a/b.md").may_keep_below("docs"));
    CHECK(rules_of("docs\n!docs/a/b.md").may_keep_below("docs/a"));
    CHECK(!rules_of("docs\n!docs/a/b.md").may_keep_below("docs/x"));
    CHECK(!rules_of("docs\n!documents/b.md").may_keep_below("docs"));
    CHECK(rules_of("*\n!**/*.py").may_keep_below("any/where"));
    CHECK(rules_of("*\n!*/keep").may_keep_below("any"));
    CHECK(!rules_of("*\n!*/keep").may_keep_below("any/where"));
    CHECK(!rules_of("!docs/a\ndocs").may_keep_below("docs")); // the later one takes it back
}

TEST_CASE("what must be sent is sent whatever the rules say") {
    auto rules = rules_of("*");
    rules.keep("docker/[x].Dockerfile");
    CHECK(!rules.ignored("docker/[x].Dockerfile"));
    CHECK(rules.ignored("docker/x.Dockerfile"));
    CHECK(rules.may_keep_below("docker"));
}

TEST_CASE("a pattern that Docker refuses is refused, with its line") {
    for (const auto* pattern :
         {"[", "a[", "[^", "[^bc", "[]a]", "[-]", "[x-]", "[-x]", "[a-b-c]", "\\", "a\\", "!["}) {
        CAPTURE(pattern);
        const auto rules = DockerIgnore::parse(std::string("fine\n\n") + pattern, "d/.dockerignore");
        REQUIRE(rules.has_error());
        CHECK(rules.error().kind == ErrorKind::config);
        CHECK(rules.error().where == "d/.dockerignore:3");
        CHECK(rules.error().message == "'" + std::string(pattern) + "' is not a pattern");
        CHECK(!rules.error().hint.empty());
    }
    CHECK(DockerIgnore::parse("!\n", "f").error() ==
          Error{ErrorKind::config, "f:1", "'!' is not a pattern",
                "write the name of what is to be sent after the '!'"});
    CHECK(DockerIgnore::parse("\x1b[[", "f").error().message == "'\\x1b[[' is not a pattern");
}

TEST_CASE("no pattern takes long, and no text is too strange") {
    const std::string stars = "**/*a*a*a*a*a*a*a*a*a*a*a*a*b";
    CHECK(!ignored(stars, std::string(2000, 'a') + "/" + std::string(2000, 'a')));
    std::string folders;
    for (int i = 0; i < 60; ++i) {
        folders += "**/x*";
    }
    CHECK(!ignored(folders, std::string(2000, 'x') + "/" + std::string(2000, 'y')));
    std::string noise;
    for (unsigned i = 0; i < 4000; ++i) { // every byte beside many others
        noise += static_cast<char>((i * i + i / 7U) % 256U);
    }
    for (std::size_t size = 0; size < noise.size(); size += 13) {
        const auto rules = DockerIgnore::parse(noise.substr(size, 40), "f");
        if (rules) {
            CHECK(rules->ignored("a/b") == rules->ignored("a/b"));
        } else {
            CHECK(rules.error().kind == ErrorKind::config);
        }
    }
}

} // namespace docker_ignore_test
