// The part of a script's study that the adapter needs, which `hpo` passes to it as an argument.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/script/syntax/template.hpp"

namespace hpo::script {

struct Task {
    std::vector<std::string> command;
    std::vector<ArgumentRange> optional;
    std::string home;
    std::string cwd;                           ///< with placeholders; empty for `home`
    std::map<std::string, std::string> files;  ///< templates by name
    std::vector<std::string> patterns;
    std::vector<std::string> needed;  ///< metrics of further objectives and of constraints
    std::string file;          ///< path of the file of metrics, with placeholders; empty if they are in the output
    double grace = 5;          ///< seconds from SIGTERM to SIGKILL
    std::int64_t reports = 1;  ///< of the objective that make one step
    TerminalUse terminal = TerminalUse::automatic;
    std::set<std::string> own_variables;             ///< names of the variables that the study sets
    std::map<std::string, std::string> environment;  ///< the variables with placeholders, as templates
    std::int64_t processes = 1;                      ///< ranks that run the command (ranks.hpp)
    bool reads_metrics = true;                       ///< false: the program must use a client
};

/// The file into which a stand-in (worker.shim) writes the script's reports.
inline constexpr const char* shim_reports = "{folder}/reports.jsonl";

/// Returns true if hpo runs the script by the adapter: it fills placeholders, reads the output or starts several
/// processes. Otherwise the script speaks with hpo itself.
inline bool has_adapter(const Study& study) {
    return study.script() != nullptr && (study.script()->metrics || study.resources.trial.processes > 1);
}

/// How a program whose metrics hpo does not read learns its parameters, and the cure for an unchanged program.
inline constexpr const char* needs_client =
    "no argument of worker.command has a placeholder, so that the program must speak with hpo itself (Python: import "
    "hpo). To run an unchanged program, add a placeholder such as \"--lr={lr}\", or 'metrics: {}' below 'worker', so "
    "that hpo reads its output";

/// Returns the task of a script's study as JSON. The study must have an adapter.
std::string task_text(const Study& study);

/// Parses the result of task_text(). Throws an exception of the JSON library if it is anything else.
Task parse_task(const std::string& text);

}  // namespace hpo::script
