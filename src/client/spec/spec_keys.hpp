// The keys that cluster.yaml knows, as the readers' own tables have them: what documentation and schema are
// held against.
#pragma once

#include <string_view>
#include <vector>

namespace dockdist {

struct SpecKey {
    std::string_view name;
    std::vector<std::string_view> words{}; // the only texts it may hold; empty: not of that kind
};

struct SpecSection {
    std::string_view path; // "" for the top; "[]" stands for any item of a list, "*" for any key of a map
    std::vector<SpecKey> keys{};
};

std::vector<SpecSection> spec_sections();

} // namespace dockdist
