#include "orchestrator/engine/worker_output.hpp"

#include <sys/wait.h>

#include <cstdio>

#include "hpo/shell_word.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo {

WorkerOutput worker_output(const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment, bool with_errors,
                           const std::function<void(std::string_view)>& on_line) {
    std::vector<std::string> command{installed_programs().worker.string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return program_output(command, environment, with_errors, on_line);
}

WorkerOutput program_output(const std::vector<std::string>& program,
                            const std::map<std::string, std::string>& environment, bool with_errors,
                            const std::function<void(std::string_view)>& on_line) {
    std::string command = "exec env";
    for (const auto& [name, value] : environment) command += ' ' + shell_word(name + "=" + value);
    for (const std::string& word : program) command += ' ' + shell_word(word);
    command += with_errors ? " 2>&1 </dev/null" : " 2>/dev/null </dev/null";

    WorkerOutput output;
    std::FILE* pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) return {127, {}};
    char buffer[4096];
    std::size_t line = 0;
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
        output.text += buffer;
        if (output.text.back() != '\n') continue;
        if (on_line) on_line(std::string_view(output.text).substr(line, output.text.size() - 1 - line));
        line = output.text.size();
    }
    const int status = ::pclose(pipe);
    output.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return output;
}

}  // namespace hpo
