// The data that a study's trials have trained on. If a file of the data changes between two sessions, values of trials
// before and after cannot be compared, although the study file is the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hpo/value.hpp"

namespace hpo {

/// Pure. Fingerprints are texts; equal data have equal ones.
class SeenData {
   public:
    /// `stored`: what text() has returned; empty or not to be understood: nothing was seen.
    explicit SeenData(const std::string& stored = {});

    /// A trial with these parameters has trained on these data. Returns the first trial that had other data, although
    /// the parameters of its data were the same; 0 if there is none.
    std::int64_t see(std::int64_t trial, const Params& params, const std::string& fingerprint);
    /// Whether text() has changed since the last call.
    [[nodiscard]] bool take_change();
    [[nodiscard]] std::string text() const;

   private:
    struct First {
        std::string fingerprint;
        std::int64_t trial = 0;
    };
    std::map<std::string, First> seen_;  ///< by the parameters of the data
    bool changed_ = false;
};

}  // namespace hpo
