// The settings that change when a stored study goes on with another study file.
#pragma once

#include <string>

namespace hpo {

struct Continuation {
    std::string wider;    ///< a sentence that names the parameters whose range is wider than that of trials with a
                          ///< value; empty: there are none
    std::string lasting;  ///< "KEY: BEFORE -> AFTER, ...": the changes that cannot be undone, since the stored study
                          ///< could not go on after them; empty: there are none
};

}  // namespace hpo
