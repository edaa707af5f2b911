// Which files of a build's folder stay behind: the rules of a .dockerignore file, as Docker's own client
// reads them (github.com/moby/patternmatcher). Not those of .gitignore: every pattern counts from the folder
// itself, and a `!` rule brings back what lies below a folder that is left out. Pure.
#pragma once

#include "shared/core/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class DockerIgnore {
public:
    // `file` is the name that errors bear. A pattern that Docker refuses is an error (config).
    static Result<DockerIgnore> parse(std::string_view text, const std::string& file);

    // One more rule after the others: the file of that name is sent, or stays behind.
    void keep(std::string_view name);
    void drop(std::string_view name);
    void drop_all();

    // The last rule decides that matches `name` or a folder above it. `name` is relative: "a/b.py".
    bool ignored(std::string_view name) const;
    // Whether a `!` rule may bring back something below that folder, which is left out itself.
    bool may_keep_below(std::string_view folder) const;

private:
    struct Range {
        char32_t first = 0, last = 0;
    };
    struct Part {
        enum class Kind {
            character,  // itself
            any,        // `?`: one character, no '/'
            star,       // `*`: any characters, no '/'
            everything, // `**` at an end: any characters
            folders,    // `**`, `**/`: nothing, or any characters and a '/'
            set         // `[…]`
        };
        Kind kind = Kind::character;
        char32_t character = 0;
        bool negated = false; // of a set
        std::vector<Range> ranges{};
    };
    struct Rule {
        bool keep = false;
        std::vector<Part> parts{};
    };
    struct Outcome {
        bool matched = false;   // the name, or a folder above it
        bool may_go_on = false; // with more characters there might be a match
    };

    void add_name(std::string_view name, bool keep);
    static bool parse_set(std::u32string_view& pattern, Part& part);
    static bool parse_pattern(std::u32string_view pattern, Rule& rule);
    static Outcome match(const Rule& rule, std::u32string_view name);
    // The last rule that matches: its index, or -1.
    int deciding_rule(std::u32string_view name) const;

    std::vector<Rule> rules_{};
};

} // namespace dockdist
