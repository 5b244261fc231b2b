#pragma once

namespace hpo::os {

enum class Calls { wait, return_at_once };  ///< calls that would wait fail with EAGAIN

/// Makes a pipe whose ends close at exec, the reading end first. Returns false, with errno, on failure.
bool open_pipe(int (&ends)[2], Calls calls = Calls::wait);

}  // namespace hpo::os
