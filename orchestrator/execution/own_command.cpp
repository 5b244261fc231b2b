#include "orchestrator/execution/own_command.hpp"

#include <unistd.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/system.hpp"
#include "os/process.hpp"

namespace hpo::supervisor {
namespace {

OwnCommand own_command;
std::span<char*> command_line;  ///< of this process, in the memory that the kernel shows to others

bool is_own_command(char** command) {
    return own_command.run != nullptr && std::strcmp(command[0], command_line[0]) == 0 && command[1] != nullptr &&
           std::strcmp(command[1], own_command.name) == 0;
}

/// Shows this process as `PROGRAM NAME`, as it would be after exec() but for the other arguments.
void show_as_own_command() {
    const char* text = own_command.name;
    for (char* argument : command_line.subspan(1)) {
        std::strncpy(argument, text, std::strlen(argument));  // fills the rest with zeros
        text = "";
    }
    const char* slash = std::strrchr(command_line[0], '/');
    os::name_thread(slash == nullptr ? command_line[0] : slash + 1);
}

/// Returns false where other processes still see the old command line: an emulator (QEMU) shows the one that it was
/// started with, not that of the program.
bool is_shown_as_own_command() {
    const std::string line = command_line_of(::getpid());
    const auto second = line.find('\0') + 1;  // 0 if there is none
    return second > 0 && std::string_view(line).substr(second).starts_with(own_command.name);
}

}  // namespace

void run_in_children(OwnCommand command, int argc, char** argv) {
    own_command = command;
    command_line = {argv, static_cast<std::size_t>(argc)};
}

void run_if_own(char** command, int first) {
    if (!is_own_command(command)) return;
    show_as_own_command();
    if (!is_shown_as_own_command() || !system::close_from(first)) return;
    int count = 0;
    while (command[count] != nullptr) ++count;
    ::_exit(own_command.run(count, command));
}

}  // namespace hpo::supervisor
