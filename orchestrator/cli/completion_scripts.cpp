#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <string>

#include "orchestrator/cli/commands.hpp"

namespace hpo::commands {
namespace {

constexpr const char* bash_script = R"(# bash completion for hpo, printed by: hpo completion bash
_hpo() {
    local words line candidate rest
    line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local current=${words[-1]}
    local kept=${current%"${current##*[=:]}"}    # bash replaces only the text after the last = or : of a word
    COMPREPLY=()
    while IFS=$'\t' read -r candidate rest; do
        COMPREPLY+=("${candidate#"$kept"}")
    done < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then compopt -o nospace 2>/dev/null; fi
    return 0
}
complete -o default -F _hpo hpo
)";

constexpr const char* zsh_script = R"(#compdef hpo
# zsh completion for hpo, printed by: hpo completion zsh
_hpo() {
    local -a whole open whole_shown open_shown
    local candidate meaning
    while IFS=$'\t' read -r candidate meaning; do
        if [[ $candidate == *[=/] ]]; then
            open+=("$candidate")
            open_shown+=("$candidate${meaning:+  -- $meaning}")
        else
            whole+=("$candidate")
            whole_shown+=("$candidate${meaning:+  -- $meaning}")
        fi
    done < <("${(Q)words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#whole} + ${#open} == 0 )); then
        _files
        return
    fi
    (( ${#whole} )) && compadd -l -d whole_shown -a whole
    (( ${#open} )) && compadd -l -S '' -d open_shown -a open
    return 0
}
if [[ ${funcstack[1]} == _hpo ]]; then
    _hpo "$@"
elif (( ${+functions[compdef]} )); then
    compdef _hpo hpo
fi
)";

constexpr const char* fish_script = R"(# fish completion for hpo, printed by: hpo completion fish
function __hpo_candidates
    set -l words (commandline -opc) (commandline -ct)
    set words[1] (string replace -r '^~' -- $HOME $words[1])
    command $words[1] __complete $words[2..-1] 2>/dev/null
end
function __hpo_has_candidates
    set -l found (__hpo_candidates)
    test (count $found) -gt 0
end
complete -c hpo -n __hpo_has_candidates -f -a '(__hpo_candidates)'
)";

}  // namespace

CommandAction completion(CLI::App& app) {
    const auto shell = std::make_shared<std::string>();
    app.add_option("SHELL", *shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    return [shell] {
        print(*shell == "bash" ? bash_script : *shell == "zsh" ? zsh_script : fish_script);
        return 0;
    };
}

}  // namespace hpo::commands
