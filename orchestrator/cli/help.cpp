#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "hpo/result.hpp"
#include "orchestrator/cli/app.hpp"

namespace hpo::commands {

CommandAction help(CLI::App& app) {
    const auto name = std::make_shared<std::string>();
    app.add_option("COMMAND", *name, "A command; default: all of them");
    return [name, &app] {
        CLI::App& program = *app.get_parent();
        program.clear();  // else it delegates to the command that was parsed, which is this one
        if (name->empty())
            print(program.help());
        else if (const CLI::App* command = find_command(program, *name))
            print(command->help(program.get_name()));
        else
            throw Fatal(unknown_command(*name) + "\nTry: hpo help", 2);
        return 0;
    };
}

}  // namespace hpo::commands
