// Runs the native worker for what it prints.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hpo {

struct WorkerOutput {
    int status = 0;  ///< as shells tell it; 127 if it could not be started
    std::string text;
};

/// Runs hpo-worker with these arguments and additional environment variables to its end. Its standard error is dropped
/// unless `with_errors` adds it to the text. `on_line` is called for each line as it comes, without its newline.
WorkerOutput worker_output(const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment = {}, bool with_errors = false,
                           const std::function<void(std::string_view)>& on_line = {});

}  // namespace hpo
