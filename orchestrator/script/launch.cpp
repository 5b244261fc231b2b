#include "orchestrator/script/launch.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/script/rank_launcher.hpp"
#include "orchestrator/script/syntax/configuration_file.hpp"
#include "orchestrator/script/syntax/template.hpp"

namespace hpo::script {

Launch::Launch(const Task& task, const to_worker::Run& run) : task_(task), run_(run), values_(run, task.home) {
    make_folders();
    for (const auto& [name, text] : task_.files)
        values_.write(name, fill_file(text, format_of(name),
                                      [&](const std::string& placeholder) { return values_.value(placeholder); }));
}

void Launch::make_folders() {
    std::error_code ignored;  // the start will fail
    if (!run_.folder.empty()) std::filesystem::create_directories(run_.folder, ignored);
    if (task_.cwd.empty()) return;
    const auto folder = std::filesystem::path(task_.home) / fill(task_.cwd, std::ref(values_)).value_or("");
    std::filesystem::create_directories(folder, ignored);
    order_.folder = folder.string();
}

std::string Launch::metrics_file() {
    const std::string name = fill(task_.file, std::ref(values_)).value_or("");
    return name.empty() ? name : (std::filesystem::path(order_.folder) / name).string();
}

std::optional<StartProblem> Launch::make_command() {
    const auto is_trial_file = [this](const std::string& argument) { return task_.files.contains(argument); };
    const auto command =
        order_.folder.empty() ? task_.command : with_absolute_paths(task_.command, task_.home, is_trial_file);
    order_.command = fill(command, task_.optional, std::ref(values_));
    if (const std::string& problem = values_.problem(); !problem.empty())
        return StartProblem{problem, is_launch_shortage(0, problem), true};
    if (const std::string problem = first_line_problem(order_.command.front()); !problem.empty())
        return StartProblem{printable(problem), false};
    return std::nullopt;
}

std::variant<StartedCommand, StartProblem> Launch::start(std::optional<Prepared>& prepared,
                                                         const std::vector<std::string>& more,
                                                         const std::string& reports) {
    add_environment(more, reports);
    Terminal terminal = prepared ? Terminal() : open_terminal_if_wanted();
    Descriptor records, records_end;
    if (task_.processes > 1) {
        if (!make_pipe(records, records_end))
            return StartProblem{std::string("cannot make a pipe: ") + std::strerror(errno), is_launch_shortage(errno),
                                true};
        ::fcntl(records.get(), F_SETFL, O_NONBLOCK);
        order_.command = ranks_command(task_.processes, task_.grace, std::move(order_.command));
    }
    // A terminal that the user asks for is a whole one. Others read from nothing.
    const int input = task_.terminal == TerminalUse::on ? terminal.program.get() : -1;
    supervisor::Child child =
        prepared ? start_prepared(*std::move(prepared), std::move(order_))
                 : supervisor::start_child(order_, input, terminal.program.get(), -1, records_end.get());
    if (child.pid != 0)
        return StartedCommand{child.pid, std::move(child.output), std::move(terminal.reader), std::move(records)};
    prepared.reset();  // a second start is an ordinary one
    // Memory that hpo itself lacks is not the script's, whose reasons name it otherwise.
    const char* why =
        child.error == ENOMEM ? "the system has too little memory for another process" : std::strerror(child.error);
    return StartProblem{"cannot " + child.failed + ": " + why, is_launch_shortage(child.error), child.own};
}

void Launch::add_environment(const std::vector<std::string>& more, const std::string& reports) {
    std::vector<std::string>& environment = order_.environment;
    for (const auto& [name, text] : task_.environment)
        environment.push_back(name + "=" + fill(text, std::ref(values_)).value_or(""));
    for (const auto& [name, value] : run_.params)
        if (!is_null(value)) environment.push_back(variable_of(name) + "=" + to_text(value));
    environment.insert(environment.end(), more.begin(), more.end());
    environment.push_back("HPO_SEED=" + std::to_string(run_.seed % seeds));
    // Stand-ins need all parameters with their types, and the file for their reports.
    environment.push_back("HPO_TRIAL=" + std::to_string(run_.id.trial));
    environment.push_back("HPO_PARAMS=" +
                          wire::from(run_.params).dump(-1, ' ', true, wire::Json::error_handler_t::replace));
    environment.push_back("HPO_REPORTS=" + (task_.file == shim_reports ? reports : std::string()));
}

/// Opens a terminal for the command if it profits from one. Otherwise, or if none can be opened, returns an empty one,
/// and the command prints to the pipe.
Terminal Launch::open_terminal_if_wanted() {
    const bool wanted = task_.terminal == TerminalUse::on ||
                        (task_.terminal == TerminalUse::automatic && profits_from_terminal(order_.command));
    if (!wanted) return {};
    auto terminal = open_terminal();
    if (!terminal) return {};
    for (const std::string& variable : terminal_variables)
        if (!task_.own_variables.contains(variable.substr(0, variable.find('='))))
            order_.environment.push_back(variable);
    return *std::move(terminal);
}

}  // namespace hpo::script
