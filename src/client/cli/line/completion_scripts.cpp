// The scripts hold nothing of dockdist's own: each asks the program that stands on the line.
#include "client/cli/line/completion.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

constexpr std::string_view bash_script =
    R"~~~(# bash completion of dockdist: source <(dockdist completion bash)
_dockdist() {
    local line=${COMP_LINE:0:COMP_POINT} cur=${COMP_WORDS[COMP_CWORD]} answer kind= file
    local program=${COMP_WORDS[0]/#"~/"/$HOME/}
    COMPREPLY=()
    while IFS= read -r answer; do
        case $answer in
        :files*) kind=-f ;;
        :folders*) kind=-d ;;
        :*) ;;
        *) COMPREPLY+=("${answer%%$'\t'*}") ;;
        esac
    done < <("$program" __complete --breaks "${COMP_WORDBREAKS:- }" -- "$line" 2>/dev/null)
    [[ -n $kind ]] || return 0
    # Beside names that are no files, `filenames` would quote their colons.
    ((${#COMPREPLY[@]})) || compopt -o filenames 2>/dev/null
    while IFS= read -r file; do
        [[ -d $file && ${#COMPREPLY[@]} -gt 0 ]] && file+=/
        COMPREPLY+=("$file")
    done < <(compgen "$kind" -- "$cur")
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[:/] ]] || compopt -o nospace 2>/dev/null
}
complete -F _dockdist dockdist
)~~~";

constexpr std::string_view zsh_script = R"~~~(#compdef dockdist
# zsh completion of dockdist: source <(dockdist completion zsh), after compinit
_dockdist() {
    local line answer closing
    local -a plain shown suffix
    line="${(j: :)words[1,CURRENT-1]} $PREFIX"
    while IFS= read -r answer; do
        case $answer in
        :*) closing=$answer ;;
        *$'\t'*)
            plain+=("${answer%%$'\t'*}")
            shown+=("${answer%%$'\t'*}  -- ${answer#*$'\t'}")
            ;;
        *)
            plain+=("$answer")
            shown+=("$answer")
            ;;
        esac
    done < <("${words[1]/#"~\/"/$HOME/}" __complete -- "$line" 2>/dev/null)
    [[ $closing == *open ]] && suffix=(-S '')
    (( ${#plain} )) && compadd -Q "${suffix[@]}" -l -d shown -a plain
    case $closing in
    :files*) _files ;;
    :folders*) _files -/ ;;
    esac
}
compdef _dockdist dockdist
)~~~";

constexpr std::string_view fish_script =
    R"~~~(# fish completion of dockdist: dockdist completion fish | source
function __dockdist_complete
    set -l line (commandline -cp | string trim --left)
    set -l program (commandline -opc)[1]
    string match -q '~/*' -- $program; and set program $HOME(string sub -s 2 -- $program)
    type -q -- $program; or return
    set -l word (commandline -ct)
    for answer in ($program __complete -- "$line" 2>/dev/null)
        switch $answer
            case ':files*'
                __fish_complete_path $word
            case ':folders*'
                __fish_complete_directories $word
            case ':*'
            case '*'
                echo $answer
        end
    end
end
complete -c dockdist -f -a '(__dockdist_complete)'
)~~~";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> scripts{
    {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}};

} // namespace

std::string_view completion_script(std::string_view shell) {
    const auto* const found = std::ranges::find(scripts, shell, [](const auto& one) { return one.first; });
    return found == scripts.end() ? std::string_view() : found->second;
}

const std::vector<std::string>& completion_shells() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const auto& [name, script] : scripts) {
            all.emplace_back(name);
        }
        return all;
    }();
    return names;
}

} // namespace dockdist
