// Lines in which Python quotes code: tracebacks, and warnings with the line of code below them. An assignment such as
// `loss = 0.0` that they quote is no metric.
#pragma once

#include <string>
#include <string_view>

namespace hpo::script {

class QuotedCode {
   public:
    /// Takes the next line, which is not blank and has no colour codes. Returns true if it is a part of a traceback (to
    /// the line with the exception), or of a warning. The lines of a traceback may all have a prefix, such as the rank.
    bool takes(std::string_view line);

   private:
    bool in_traceback_ = false;
    bool below_warning_ = false;
    std::string prefix_;  ///< of the traceback's lines
};

}  // namespace hpo::script
