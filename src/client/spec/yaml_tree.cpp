#include "client/spec/yaml_tree.hpp"

#include "client/spec/yaml_source.hpp"
#include "client/spec/yaml_syntax.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace dockdist {
namespace {

// Thrown out of the event handler to end the parse where going on would cost too much or tell too much.
struct Fatal {
    YamlMistake mistake;
};

bool is_known_tag(const std::string& tag) {
    static constexpr std::array known{"",
                                      "?",
                                      "!",
                                      "tag:yaml.org,2002:str",
                                      "tag:yaml.org,2002:int",
                                      "tag:yaml.org,2002:bool",
                                      "tag:yaml.org,2002:float",
                                      "tag:yaml.org,2002:null",
                                      "tag:yaml.org,2002:seq",
                                      "tag:yaml.org,2002:map"};
    return std::ranges::find(known, tag) != known.end();
}

bool starts_with_null(std::string_view text) {
    static constexpr std::array<std::string_view, 4> nulls{"~", "null", "Null", "NULL"};
    return std::ranges::any_of(nulls, [&](std::string_view null) { return text.starts_with(null); });
}

class TreeBuilder : public YAML::EventHandler {
public:
    TreeBuilder(const YamlSource& source, YamlDocument& document, std::span<const std::string_view> more_tags)
        : source_(source), document_(document), more_tags_(more_tags) {}

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {
        if (auto unclosed = unclosed_quote(source_, last_scalar_, last_scalar_place_)) {
            throw Fatal{std::move(*unclosed)}; // what was swallowed may be a secret: nothing may quote it
        }
    }

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (wants_key()) {
            take_key("null", place(mark), false);
            return;
        }
        auto& node = make(YamlNode::Kind::null, mark, anchor);
        // yaml-cpp places an absent value at the next token, which may be lines below.
        if (!frames_.empty() && frames_.back().node->kind == YamlNode::Kind::map) {
            node.place = frames_.back().key_place;
        } else if (const auto text = source_.text(); !starts_with_null(text.substr(offset(mark)))) {
            if (const auto dash = text.substr(0, offset(mark)).rfind('-'); dash != std::string_view::npos) {
                node.place = source_.place(dash);
            }
        }
        attach(node);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end() || open_.contains(found->second)) {
            mistake(place(mark), "this alias is inside the value that it repeats",
                    "write the value out here");
            if (!wants_key()) {
                attach(make(YamlNode::Kind::null, mark, 0));
            } else {
                take_key("*", place(mark), false);
            }
            return;
        }
        const auto& target = *found->second;
        if (wants_key()) {
            if (target.kind != YamlNode::Kind::scalar) {
                mistake(place(mark), "a key has to be text", "");
            }
            take_key(target.text, place(mark), false);
            return;
        }
        attach(target);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        check_tag(mark, tag);
        last_scalar_ = offset(mark);
        last_scalar_place_ = place(mark);
        if (wants_key()) {
            if (anchor != 0) {
                auto& node = make(YamlNode::Kind::scalar, mark, anchor);
                node.text = value;
            }
            take_key(value, place(mark), tag == "?");
            return;
        }
        auto& node = make(YamlNode::Kind::scalar, mark, anchor);
        node.text = value;
        const auto rest = source_.text().substr(offset(mark));
        const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
        node.indent = quoted ? 1 : 0;
        node.verbatim = rest.substr(node.indent).starts_with(value);
        attach(node);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(YamlNode::Kind::list, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(YamlNode::Kind::map, mark, tag, anchor);
    }
    void OnMapEnd() override {
        merge(frames_.back());
        close();
    }

private:
    struct Frame {
        YamlNode* node = nullptr;
        bool as_key = false; // a list or map that stands where a key should
        bool has_key = false;
        bool merging = false; // the key is `<<`
        bool dropped = false; // the key is a duplicate: its value is not kept
        std::string key{};
        Place key_place{};
        std::unordered_map<std::string, Place> keys{};
        std::vector<const YamlNode*> merges{};
    };

    std::size_t offset(const YAML::Mark& mark) const {
        return std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), source_.text().size());
    }
    Place place(const YAML::Mark& mark) const { return source_.place(mark.line, mark.column); }

    void mistake(Place where, std::string message, std::string hint) {
        document_.mistakes.push_back({where, std::move(message), std::move(hint)});
    }

    void check_tag(const YAML::Mark& mark, const std::string& tag) {
        if (!is_known_tag(tag) && std::ranges::find(more_tags_, tag) == more_tags_.end()) {
            mistake(place(mark), fmt::format("the tag `{}` has no meaning here", printable(tag)),
                    "remove it");
        }
    }

    bool wants_key() const {
        return !frames_.empty() && frames_.back().node->kind == YamlNode::Kind::map &&
               !frames_.back().has_key;
    }

    YamlNode& make(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
        auto& node = document_.nodes.emplace_back();
        node.kind = kind;
        node.place = place(mark);
        if (anchor != 0) {
            anchors_[anchor] = &node;
        }
        return node;
    }

    void take_key(const std::string& key, Place where, bool plain) {
        auto& frame = frames_.back();
        frame.has_key = true;
        frame.key = key;
        frame.key_place = where;
        frame.merging = plain && key == "<<";
        const auto [first, fresh] = frame.keys.try_emplace(key, where);
        frame.dropped = !fresh;
        if (!fresh) {
            mistake(where, fmt::format("the key `{}` appears here a second time", printable(key)),
                    fmt::format("the first is in line {}: keep one of them", first->second.line));
        }
    }

    void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        check_tag(mark, tag);
        if (frames_.size() >= max_yaml_depth) {
            throw Fatal{{place(mark),
                         fmt::format("lists and maps are nested more than {} deep", max_yaml_depth), ""}};
        }
        const bool as_key = wants_key();
        if (as_key) {
            mistake(place(mark), "a key has to be text, not a list or a map",
                    "quote a value that begins with { or [: \"${VAR}\", \"[a]\"");
        }
        auto& node = make(kind, mark, anchor);
        open_.insert(&node);
        frames_.push_back({.node = &node, .as_key = as_key});
    }

    void close() {
        const auto frame = std::move(frames_.back());
        frames_.pop_back();
        open_.erase(frame.node);
        if (frame.as_key) {
            take_key(fmt::format("(a value in line {})", frame.node->place.line), frame.node->place, false);
            frames_.back().dropped = true;
        } else {
            attach(*frame.node);
        }
    }

    // What `node` would count with its aliases written out.
    std::size_t weigh(const YamlNode& node) {
        std::size_t total = 1;
        const auto add = [&](const YamlNode* part) { total += weights_.at(part); };
        std::ranges::for_each(node.items, add);
        std::ranges::for_each(node.entries, add, &YamlEntry::value);
        if (total > max_yaml_values) {
            throw Fatal{{node.place,
                         fmt::format("this holds more than {} values, aliases written out", max_yaml_values),
                         "is this the right file?"}};
        }
        return total;
    }

    void attach(const YamlNode& node) {
        if (!weights_.contains(&node)) {
            weights_[&node] = weigh(node);
        }
        if (frames_.empty()) {
            document_.root = &node;
            return;
        }
        auto& frame = frames_.back();
        if (frame.node->kind == YamlNode::Kind::list) {
            frame.node->items.push_back(&node);
            return;
        }
        if (frame.merging && !frame.dropped) {
            collect_merge(frame, node);
        } else if (!frame.dropped) {
            frame.node->entries.push_back({frame.key, frame.key_place, &node});
        }
        frame.has_key = false;
    }

    void collect_merge(Frame& frame, const YamlNode& node) {
        const auto refuse = [&] {
            mistake(frame.key_place, "`<<` takes a map, or a list of maps, to merge in",
                    "write it as `<<: *ANCHOR`");
        };
        if (node.kind == YamlNode::Kind::map) {
            frame.merges.push_back(&node);
        } else if (node.kind == YamlNode::Kind::list) {
            for (const auto* item : node.items) {
                item->kind == YamlNode::Kind::map ? frame.merges.push_back(item) : refuse();
            }
        } else {
            refuse();
        }
    }

    // The map's own keys win, then the earlier of the merged maps.
    void merge(Frame& frame) {
        for (const auto* source : frame.merges) {
            for (const auto& entry : source->entries) {
                if (++merged_ > max_yaml_values) {
                    throw Fatal{{frame.node->place, "the merge keys here repeat too much", "repeat less"}};
                }
                if (frame.keys.try_emplace(entry.key, entry.place).second) {
                    frame.node->entries.push_back(entry);
                }
            }
        }
    }

    const YamlSource& source_;
    YamlDocument& document_;
    std::span<const std::string_view> more_tags_;
    std::vector<Frame> frames_{};
    std::map<YAML::anchor_t, const YamlNode*> anchors_{};
    std::unordered_set<const YamlNode*> open_{};
    std::unordered_map<const YamlNode*, std::size_t> weights_{};
    std::size_t merged_ = 0;
    std::size_t last_scalar_ = 0;
    Place last_scalar_place_{};
};

} // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
    const auto found = std::ranges::find(entries, key, &YamlEntry::key);
    return found == entries.end() ? nullptr : &*found;
}

YamlDocument parse_yaml(std::string_view text, std::span<const std::string_view> more_tags) {
    YamlDocument document;
    const YamlSource source(text);
    const auto refuse = [&](YamlMistake mistake) {
        document.root = nullptr;
        document.mistakes.push_back(std::move(mistake));
    };
    if (auto obstacle = source.obstacle()) {
        refuse(std::move(*obstacle));
        return document;
    }
    try {
        std::istringstream stream{std::string(source.text())};
        YAML::Parser parser(stream);
        TreeBuilder builder(source, document, more_tags);
        if (!parser.HandleNextDocument(builder) || document.root == nullptr) {
            refuse({{}, "the file holds nothing but comments", "`dockdist init` writes one to start from"});
            return document;
        }
        YamlDocument rest;
        TreeBuilder ignored(source, rest, more_tags);
        if (parser.HandleNextDocument(ignored) && rest.root != nullptr) {
            document.mistakes.push_back({rest.root->place, "a second document begins here",
                                         "one file describes one cluster: remove the `---` or the rest"});
        }
    } catch (const Fatal& fatal) {
        refuse(fatal.mistake);
    } catch (const YAML::Exception& error) {
        refuse(explain(error, source));
    }
    return document;
}

} // namespace dockdist
