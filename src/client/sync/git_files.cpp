#include "client/sync/git_files.hpp"

#include "client/sync/git_index.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/regular_file.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"

#include <cstdlib>
#include <utility>

namespace dockdist {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_index = std::size_t{256} << 20U; // some million files

// "gitdir: ../.git/worktrees/b"
std::optional<fs::path> git_folder(const fs::path& folder) {
    constexpr std::string_view word = "gitdir:";
    std::error_code failed;
    auto place = folder / ".git";
    if (fs::is_directory(place, failed)) {
        return place;
    }
    const auto text = read_regular_file(place);
    if (!text || !text->starts_with(word)) {
        return std::nullopt;
    }
    return folder / std::string(trimmed(std::string_view(*text).substr(word.size())));
}

std::string home() {
    const char* path = std::getenv("HOME");
    return path != nullptr ? path : "";
}

// A value of git's: in quotes, or up to a comment.
std::string value_of(std::string_view text) {
    std::string value;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && (text[i] == '#' || text[i] == ';')) {
            break;
        } else {
            i += text[i] == '\\' && i + 1 < text.size() ? 1 : 0;
            value += text[i];
        }
    }
    return std::string(trimmed(value));
}

} // namespace

std::optional<GitFiles> git_files_of(const fs::path& folder) {
    const auto place = git_folder(folder);
    if (!place) {
        return std::nullopt;
    }
    GitFiles files{.index = *place / "index"};
    if (const auto index = read_file(files.index, largest_index); index) {
        files.tracked = tracked_names(index->text).value_or(std::vector<std::string>());
    }
    auto common = *place; // which all work trees of a repository share
    if (const auto text = read_regular_file(*place / "commondir")) {
        common /= std::string(trimmed(*text));
    }
    const auto exclude = common / "info/exclude";
    files.exclude = read_regular_file(exclude).value_or("");
    files.exclude_path =
        place->filename() == ".git" ? ".git/info/exclude" : exclude.lexically_normal().string();
    return files;
}

std::optional<std::string> excludes_file_of(const std::string& config, const std::string& home) {
    std::optional<std::string> found;
    std::string section;
    for (const auto& whole : split(config, '\n')) {
        const auto line = trimmed(whole);
        if (line.starts_with('[')) {
            section = to_lower(line.substr(0, line.find(']')));
            continue;
        }
        const auto equals = line.find('=');
        if (section == "[core" && equals != std::string_view::npos &&
            to_lower(trimmed(line.substr(0, equals))) == "excludesfile") {
            auto path = value_of(trimmed(line.substr(equals + 1)));
            found = path.starts_with("~/") ? home + path.substr(1) : std::move(path);
        }
    }
    return found;
}

UserExcludes user_excludes() {
    const char* xdg = std::getenv("XDG_CONFIG_HOME");
    const auto folder =
        fs::path(xdg != nullptr && *xdg == '/' ? std::string(xdg) : home() + "/.config") / "git";
    auto path = (folder / "ignore").string();
    for (const auto& config : {folder / "config", fs::path(home()) / ".gitconfig"}) {
        if (const auto named = excludes_file_of(read_regular_file(config).value_or(""), home())) {
            path = *named;
        }
    }
    return {.lines = path.empty() ? "" : read_regular_file(path).value_or(""), .path = path};
}

} // namespace dockdist
