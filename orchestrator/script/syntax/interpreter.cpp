#include "orchestrator/script/syntax/interpreter.hpp"

#include <filesystem>
#include <string_view>

#include "orchestrator/script/syntax/template.hpp"

namespace hpo::script {

using std::string;

namespace {

constexpr std::string_view plain_options = "bBdEIOPqsSuv";  ///< options of the interpreter without a value

bool has_separate_value(const string& option) {
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
        const string& argument = command[at];
        if (argument == "-m" || argument == "-c") return at + 1 < command.size() ? std::optional(at) : std::nullopt;
        if (!argument.starts_with('-')) break;
        if (has_separate_value(argument))
            ++at;
        else if (argument.size() == 1 || !is_plain(argument))
            return {};
    }
    if (at >= command.size() || !placeholders(command[at]).empty()) return {};
    return at;
}

}  // namespace hpo::script
