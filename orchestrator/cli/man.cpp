#include "orchestrator/cli/man.hpp"

#include <CLI/App.hpp>
#include <fstream>
#include <string_view>

#include "hpo/result.hpp"
#include "hpo/version.hpp"
#include "orchestrator/cli/app.hpp"

namespace hpo {
namespace {

using std::string;
using std::string_view;

/// Quotes text for roff: a backslash and hyphens as typed, and no requests at the beginning of a line.
string roff_text(string_view text) {
    string roff;
    for (const char c : text) {
        const bool begins = roff.empty() || roff.back() == '\n';
        if (begins && (c == '.' || c == '\'')) roff += "\\&";
        if (c == '\\')
            roff += "\\e";
        else if (c == '-')
            roff += "\\-";
        else
            roff += c;
    }
    return roff;
}

string section(string_view title, const string& body) { return ".SH " + string(title) + '\n' + body; }

string paragraph(const string& head, string_view text) {
    return ".TP\n" + head + '\n' + (text.empty() ? "\\&" : roff_text(text)) + '\n';
}

string literal(string_view lines) { return ".nf\n.RS\n" + roff_text(lines) + "\n.RE\n.fi\n"; }

/// Returns "-o, --output TEXT", or the name of a positional argument.
string head_of(const CLI::Option& option) {
    string names = option.get_positional() ? option.get_name(true) : "";
    for (const string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
    for (const string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
    string head = "\\fB" + roff_text(names) + "\\fR";
    if (option.get_items_expected_max() > 0) head += " \\fI" + roff_text(option.get_type_name()) + "\\fR";
    return head;
}

/// Describes the arguments and options, the arguments first.
string options_of(const CLI::App& app) {
    string arguments, options;
    for (const CLI::Option* option : app.get_options()) {
        string text = option->get_description();
        if (const string fallback = option->get_default_str(); !fallback.empty())
            text += " (default: " + fallback + ")";
        (option->get_positional() ? arguments : options) += paragraph(head_of(*option), text);
    }
    return (arguments.empty() ? "" : section("ARGUMENTS", arguments)) + section("OPTIONS", options);
}

string usage_of(const CLI::App& command) {
    string usage = "\\fBhpo " + roff_text(command.get_name()) + "\\fR [\\fIOPTIONS\\fR]";
    for (const CLI::Option* option : command.get_options()) {
        if (!option->get_positional()) continue;
        const string name =
            "\\fI" + roff_text(option->get_name(true)) + "\\fR" + (option->get_items_expected_max() > 1 ? "..." : "");
        usage += option->get_required() ? ' ' + name : " [" + name + ']';
    }
    return usage + '\n';
}

/// Returns the part of a footer after "Examples:\n".
string examples_of(const CLI::App& app) {
    constexpr string_view head = "Examples:\n";
    const string footer = app.get_footer();
    return footer.starts_with(head) ? section("EXAMPLES", literal(string_view(footer).substr(head.size()))) : "";
}

string page_of_command(const CLI::App& command) {
    return section("NAME",
                   roff_text("hpo-" + command.get_name()) + " \\- " + roff_text(command.get_description()) + '\n') +
           section("SYNOPSIS", usage_of(command)) + options_of(command) + examples_of(command) +
           section("SEE ALSO", ".BR hpo (1)\n");
}

string page_of_program(const CLI::App& program) {
    string commands;
    for (const CLI::App* one : program.get_subcommands({}))
        commands += paragraph("\\fBhpo\\-" + roff_text(one->get_name()) + "\\fR(1)", one->get_description());
    const string title = program.get_description().substr(program.get_description().find(' ') + 1);
    return section("NAME", "hpo \\- " + roff_text(title) + '\n') +
           section("SYNOPSIS", "\\fBhpo\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n") + section("COMMANDS", commands) +
           options_of(program) +
           section("ENVIRONMENT", paragraph("\\fBHPO_RUNS\\fR",
                                            "Folder of the studies; default: runs, below the "
                                            "current folder") +
                                      paragraph("\\fBHPO_SLURM_TIMEOUT\\fR",
                                                "Time that a command of Slurm may take, such as 30s; default: 60s")) +
           section("FILES", paragraph("\\fIruns/STUDY/\\fR",
                                      "A study: study.db (SQLite), study.yaml as accepted, "
                                      "hpo.log, logs/ and checkpoints/") +
                                paragraph("\\fI/usr/share/doc/hpo/\\fR", "Ready studies and the manual")) +
           section("EXIT STATUS", roff_text("0: done; 1: failed, or no trial has a value; 2: wrong usage; 130: "
                                            "interrupted; 143: terminated.") +
                                      '\n') +
           examples_of(program);
}

}  // namespace

string man_page(const CLI::App& program, const CLI::App* command) {
    string name = "HPO";
    for (const char c : command == nullptr ? "" : '-' + command->get_name())
        name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return ".TH \"" + roff_text(name) + "\" 1 \"\" \"hpo " + version + "\" \"hpo\"\n" +
           (command == nullptr ? page_of_program(program) : page_of_command(*command));
}

int write_man_pages(const std::vector<string>& arguments) {
    if (arguments.size() != 1) throw Fatal("usage: hpo __man FOLDER", 2);
    CLI::App app;
    const DeclaredCommands declared = declare_commands(app);
    const auto write = [&](const string& name, const CLI::App* command) {
        const string path = arguments.front() + '/' + name + ".1";
        std::ofstream file(path);
        file << man_page(app, command) << std::flush;
        if (!file) throw Fatal(path + ": cannot be written");
    };
    write("hpo", nullptr);
    for (const CLI::App* command : app.get_subcommands({})) write("hpo-" + command->get_name(), command);
    return 0;
}

}  // namespace hpo
