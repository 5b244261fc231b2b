// Runs the native worker, or another program, and captures its output.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hpo {

struct WorkerOutput {
    int status = 0;  ///< exit status as shells report it; 127 if the program could not be started
    std::string text;
};

/// Runs a program, whose path comes first in `command`, as worker_output() runs the worker.
WorkerOutput program_output(const std::vector<std::string>& command,
                            const std::map<std::string, std::string>& environment = {}, bool with_errors = false,
                            const std::function<void(std::string_view)>& on_line = {});

/// Runs hpo-worker with these arguments and additional environment variables, and waits for its end. Standard error is
/// discarded unless `with_errors` is set, which adds it to the text. Calls `on_line` with each line as it arrives,
/// without its newline.
WorkerOutput worker_output(const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment = {}, bool with_errors = false,
                           const std::function<void(std::string_view)>& on_line = {});

}  // namespace hpo
