// .dockerignore and .gitignore: patterns of a stranger's repository, and names of its files.
#include "client/image/docker_ignore.hpp"
#include "client/sync/git_files.hpp"
#include "client/sync/git_index.hpp"
#include "client/sync/ignore_rules.hpp"
#include "client/sync/wildmatch.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using namespace dockdist;

void docker(const std::string& patterns, const std::string& name) {
    auto rules = DockerIgnore::parse(patterns, ".dockerignore");
    if (!rules) {
        fuzz::require(fuzz::has_no_controls(rules.error().message), "an error has no controls");
        return;
    }
    const bool ignored = rules->ignored(name);
    if (const auto slash = name.rfind('/'); slash != std::string::npos && slash > 0) {
        const auto folder = name.substr(0, slash);
        fuzz::require(!rules->ignored(folder) || ignored || rules->may_keep_below(folder),
                      "what a folder is walked into for may be sent");
    }
    rules->keep(name);
    fuzz::require(name.empty() || !rules->ignored(name), "what has to be sent is");
}

void git(const std::string& patterns, const std::string& name, const std::string& base) {
    IgnoreRules rules;
    rules.add(IgnoreRules::Group::git, base, patterns);
    rules.add_above("sub/project", patterns);
    const bool file = rules.ignored(name, false);
    const bool folder = rules.ignored(name, true);
    fuzz::require(rules.ignored(name + "/x", false) || !folder, "what is in an ignored folder is ignored");
    IgnoreRules wins;
    wins.add(IgnoreRules::Group::exclude, "", "!**\n");
    wins.add(IgnoreRules::Group::git, base, patterns);
    fuzz::require(!wins.ignored_itself(name, false) || name.empty(),
                  "the first group that says something decides");
    (void)file;
}

void tracked(const std::string& index, const std::string& name) {
    const auto names = tracked_names(index);
    IgnoreRules rules;
    rules.add(IgnoreRules::Group::git, "", "*\n");
    rules.track("", names.value_or(std::vector<std::string>()));
    for (const auto& one : names.value_or(std::vector<std::string>())) {
        fuzz::require(!one.empty() && !rules.ignored_itself(one, false), "what is tracked stays in");
    }
    (void)rules.ignored(name, true);
    (void)excludes_file_of(index, name);
}

} // namespace

void fuzz::one_input(std::string_view input) {
    const auto [kind, text] = kinded(input, 4);
    const auto said = parts(text.substr(0, 4096), 3);
    if (kind == 0) {
        docker(said[0], said[1]);
    } else if (kind == 1) {
        git(said[0], said[1], said[2]);
    } else if (kind == 2) {
        tracked(std::string(text.substr(0, 4096)), said[1]);
    } else {
        (void)wildmatch(said[0], said[1]);
        // A name matches itself when what patterns are made of is taken as it is.
        std::string itself;
        for (const char c : said[1]) {
            itself += std::string("\\") + c;
        }
        require(wildmatch(itself, said[1]), "a name matches itself");
        require(wildmatch("**", said[1]), "** matches everything");
    }
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    for (const auto* pattern : {"*.o\n!keep.o\nbuild/\n/top\n# no\n\\#yes \\ \n", "**/a/**\na/**/b\n**",
                                "[a-z]*[!0-9]?[[:alpha:]]\\*", "!**/x\n*\n!src/*.py", "**/**/**/**/x",
                                "*a*a*a*a*b", "/a/../b/./c//\n."}) {
        for (const auto* name : {"a/b/c.o", "build/keep.o", "a/a/a/a/a/a/a/a/a/a/a/a",
                                 "aaaaaaaaaaaaaaaaaaaaaaaaa", "src/main.py"}) {
            for (const std::size_t kind : {0U, 1U, 3U}) {
                all.push_back(of_kind(kind, of_parts({pattern, name, "a"})));
            }
        }
    }
    for (const char version : {'\2', '\3', '\4'}) {
        const auto entry = std::string(61, '\0') +
                           (version == '\4' ? std::string("\1\0a\0", 4) : std::string("\1a\0", 3)) +
                           (version == '\4' ? "" : std::string(7, '\0'));
        all.push_back(of_kind(2, std::string("DIRC\0\0\0", 7) + version + std::string("\0\0\0\2", 4) + entry +
                                     entry + std::string(20, 'h')));
    }
    all.push_back(of_kind(2, "[core]\n\texcludesFile = \"~/.gitignore\" # mine\n"));
    return all;
}
