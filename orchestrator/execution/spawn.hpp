// Starts a program beside this process, without fork(), whose time grows with this process's memory.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hpo {

struct Spawn {
    std::vector<std::string> command;        ///< the program, which is searched for in PATH, and its arguments
    std::string program{};                   ///< path of the program, if it is not the command's first word
    std::vector<std::string> environment{};  ///< NAME=value, each variable; empty: that of this process
    std::string folder{};                    ///< the folder in which it starts; empty: that of this process
    int in = -1, out = -1, error = -1;       ///< its standard descriptors; -1: /dev/null
    bool session = false;                    ///< true: it leads a session, which has no terminal
};

/// Starts the program as the leader of a process group, so that signals of the terminal (Ctrl-C) do not reach it. No
/// signal is blocked or ignored there. Returns an errno, or 0 and the process in `pid`, which is else 0.
int spawn(const Spawn& order, pid_t& pid);

}  // namespace hpo
