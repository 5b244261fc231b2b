#include "orchestrator/script/syntax/interpreter.hpp"

#include <filesystem>
#include <string_view>

#include "orchestrator/script/syntax/template.hpp"

namespace hpo::script {

using std::string;

namespace {

constexpr std::string_view plain_options = "bBdEIOPqsSuv";  ///< options of the interpreter that have no value

bool takes_a_value(const string& option) {
    return option == "-W" || option == "-X" || option == "--check-hash-based-pycs";
}

bool is_plain(const string& option) {
    if (option.starts_with("-W") || option.starts_with("-X")) return true;
    return option.find_first_not_of(plain_options, 1) == string::npos;
}

}  // namespace

std::optional<std::size_t> interpreter_arguments(const std::vector<string>& command) {
    if (command.empty() || !std::filesystem::path(command[0]).filename().string().starts_with("python")) return {};
    std::size_t at = 1;
    for (; at < command.size(); ++at) {
        const string& word = command[at];
        if (word == "-m" || word == "-c") return at + 1 < command.size() ? std::optional(at) : std::nullopt;
        if (!word.starts_with('-')) break;
        if (takes_a_value(word))
            ++at;
        else if (word.size() == 1 || !is_plain(word))
            return {};
    }
    if (at >= command.size() || !placeholders(command[at]).empty()) return {};
    return at;
}

}  // namespace hpo::script
