#include "orchestrator/cli/app.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "orchestrator/study/diagnostics.hpp"
#include "orchestrator/view/terminal.hpp"
#include "orchestrator/view/wrapped.hpp"

namespace hpo {

std::string indent(std::string_view lines) {
    std::string text = "  ";
    for (char c : lines) {
        text += c;
        if (c == '\n') text += "  ";
    }
    return text;
}

namespace {

/// Breaks the descriptions of options where the terminal's lines end, and after 100 columns elsewhere.
class HelpFormatter final : public CLI::Formatter {
   public:
    [[nodiscard]] std::string make_option(const CLI::Option* option, bool is_positional) const override {
        const std::size_t indent = get_column_width();
        const std::size_t width = std::max(indent + 20, line_width());
        std::string line = "  " + make_option_name(option, is_positional) + make_option_opts(option);
        const std::string meaning = view::wrapped(make_option_desc(option), indent, width);
        if (!meaning.empty())
            line += line.size() < indent ? std::string(indent - line.size(), ' ') : "\n" + std::string(indent, ' ');
        return line + meaning + "\n";
    }

   private:
    /// Returns where lines end. Asks the terminal when a first option is printed.
    [[nodiscard]] std::size_t line_width() const {
        if (!width_) {
            constexpr int widest = 100;
            const int terminal = view::screen_of_stdout().width;
            width_ = static_cast<std::size_t>(terminal > 0 ? std::min(terminal, widest) : widest);
        }
        return *width_;
    }

    mutable std::optional<std::size_t> width_;
};

}  // namespace

DeclaredCommands declare_commands(CLI::App& app) {
    app.formatter(std::make_shared<HelpFormatter>());
    app.name("hpo");
    app.description("hpo: the best configuration for a training job, in the least time this machine can find it in");
    app.set_version_flag("--version", std::string("hpo ") + version, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.failure_message([](const CLI::App* at, const CLI::Error& error) {
        return "hpo: " + printable(error.what(), true) +
               "\nTry: " + (at->get_parent() ? "hpo " + at->get_name() : at->get_name()) + " --help\n";
    });
    std::string first_steps = "Examples:\n";
    DeclaredCommands declared;
    for (const Command& command : command_table()) {
        CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
        sub->footer("Examples:\n" + indent(command.examples));
        declared.emplace_back(sub, command.declare(*sub));
        first_steps += "  " + std::string(command.examples.substr(0, command.examples.find('\n'))) + "\n";
    }
    app.footer(first_steps + "\nhpo COMMAND --help describes a command.");
    return declared;
}

const CLI::App* find_command(const CLI::App& program, const std::string& name) {
    for (const CLI::App* command : program.get_subcommands({}))
        if (command->get_name() == name) return command;
    return nullptr;
}

namespace {

/// Words for what commands do, in other tools (Optuna, NNI, W&B, Ray) and in general.
constexpr std::pair<std::string_view, std::string_view> other_words[] = {
    {"best-trial", "best"}, {"create", "init"},    {"dashboard", "serve"}, {"delete", "rm"},  {"kill", "stop"},
    {"list", "ls"},         {"log", "logs"},       {"optimize", "run"},    {"remove", "rm"},  {"rename", "mv"},
    {"resume", "run"},      {"search", "run"},     {"start", "run"},       {"status", "top"}, {"sweep", "run"},
    {"trials", "ls"},       {"validate", "check"}, {"view", "top"},        {"web", "serve"},  {"best-trials", "best"},
};

}  // namespace

std::string unknown_command(const std::string& name) {
    const auto* const other =
        std::ranges::find(other_words, name, &std::pair<std::string_view, std::string_view>::first);
    if (other != std::end(other_words))
        return "no command '" + printable(name) + "'; did you mean '" + std::string(other->second) + "'?";
    std::vector<std::string_view> names;
    for (const Command& command : command_table()) names.push_back(command.name);
    return "no command '" + printable(name) + "'" + study::suggestion(name, names);
}

}  // namespace hpo
