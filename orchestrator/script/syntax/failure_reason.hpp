// Finds in a command's output why it failed: the error's line, not the last one. Below it programs print frames, hints
// and the remarks of launchers (failure_forms.hpp has the forms).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

struct FailureReason {
    /// In at most 4000 bytes, without a newline at the end; empty for an empty output. For a Python traceback it is the
    /// exception's message, then the last frames; otherwise the error's line and the causes that are named below it;
    /// without a known form it is the last line. May contain control characters.
    std::string text;
    /// The whole text of the error, and of the exceptions from which it followed, without code. Errors that were
    /// handled before are left out.
    std::string evidence;
    /// The lines from the error on, with which shells and launchers report the end.
    std::vector<std::string> rest;
    /// True if the output ends as that of a program with an uncaught error.
    bool fatal = false;
};

FailureReason failure_reason(std::string_view output);

}  // namespace hpo::script
