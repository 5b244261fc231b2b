// The commands: each is declared in a file of its own and listed in cli.cpp's table.
#pragma once

#include <functional>
#include <string_view>

namespace CLI {
class App;
}

namespace hpo {

/// What a declared command does once its arguments are parsed; the result is the exit code. Fatal ends it with a
/// message.
using CommandAction = std::function<int()>;

struct Command {
    std::string_view name;
    std::string_view summary;                 ///< one line
    std::string_view examples;                ///< lines for --help, each a command that works
    CommandAction (*declare)(CLI::App& app);  ///< adds its options to `app`, which outlives the action
};

namespace commands {

CommandAction run(CLI::App& app);
CommandAction ask_tell_study(CLI::App& app);
CommandAction check(CLI::App& app);
CommandAction train(CLI::App& app);
CommandAction ls(CLI::App& app);
CommandAction show(CLI::App& app);
CommandAction logs(CLI::App& app);
CommandAction top(CLI::App& app);
CommandAction stop(CLI::App& app);
CommandAction best(CLI::App& app);
CommandAction importance(CLI::App& app);
CommandAction devices(CLI::App& app);
CommandAction monitor(CLI::App& app);
CommandAction bench(CLI::App& app);
CommandAction keys(CLI::App& app);
CommandAction export_study(CLI::App& app);
CommandAction convert(CLI::App& app);

}  // namespace commands

/// Writes to stdout and flushes. A reader that went away ends the command quietly; a full disk ends it with a message.
void print(std::string_view text);

}  // namespace hpo
