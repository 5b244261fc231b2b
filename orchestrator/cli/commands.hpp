// Declares the commands. Each is defined in its own file and listed in command_table.cpp.
#pragma once

#include <functional>
#include <string_view>

namespace CLI {
class App;
}

namespace hpo {

/// Runs a command whose arguments have been parsed, and returns the exit code. Throws Fatal or Refusal with the message
/// for the user.
using CommandAction = std::function<int()>;

struct Command {
    std::string_view name;
    std::string_view summary;                 ///< one line
    std::string_view examples;                ///< lines for --help, each a command that can be run
    CommandAction (*declare)(CLI::App& app);  ///< adds the command's options to `app`, which must outlive the action
};

namespace commands {

CommandAction run(CLI::App& app);
CommandAction ask_tell_study(CLI::App& app);
CommandAction init(CLI::App& app);
CommandAction check(CLI::App& app);
CommandAction train(CLI::App& app);
CommandAction predict(CLI::App& app);
CommandAction ls(CLI::App& app);
CommandAction show(CLI::App& app);
CommandAction logs(CLI::App& app);
CommandAction top(CLI::App& app);
CommandAction stop(CLI::App& app);
CommandAction best(CLI::App& app);
CommandAction compare(CLI::App& app);
CommandAction rm(CLI::App& app);
CommandAction mv(CLI::App& app);
CommandAction note(CLI::App& app);
CommandAction tag(CLI::App& app);
CommandAction importance(CLI::App& app);
CommandAction plot(CLI::App& app);
CommandAction report(CLI::App& app);
CommandAction serve_studies(CLI::App& app);
CommandAction agent(CLI::App& app);
CommandAction devices(CLI::App& app);
CommandAction doctor(CLI::App& app);
CommandAction advise(CLI::App& app);
CommandAction simulate(CLI::App& app);
CommandAction monitor(CLI::App& app);
CommandAction bench(CLI::App& app);
CommandAction keys(CLI::App& app);
CommandAction schema(CLI::App& app);
CommandAction completion(CLI::App& app);
CommandAction help(CLI::App& app);
CommandAction export_study(CLI::App& app);
CommandAction convert(CLI::App& app);
CommandAction import_trials(CLI::App& app);

}  // namespace commands

/// Writes to stdout and flushes. Throws Fatal if that fails. A closed pipe ends the command silently with exit code 0,
/// a full disk ends it with a message.
void print(std::string_view text);

}  // namespace hpo
