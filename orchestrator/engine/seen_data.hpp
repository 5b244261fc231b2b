// The data that a study's trials have trained on. If a data file changes between two sessions, trials before and after
// cannot be compared, although the study file is the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hpo/value.hpp"

namespace hpo {

/// Pure. Fingerprints are texts; equal data have equal ones.
class SeenData {
   public:
    /// `stored` is an earlier text(); an empty or unreadable one means no data.
    explicit SeenData(const std::string& stored = {});

    /// Adds the data of a trial with these parameters. Returns the first trial that had other data with the same
    /// parameters of the data; 0 if there is none.
    std::int64_t see(std::int64_t trial, const Params& params, const std::string& fingerprint);
    /// Returns true if text() has changed since the last call.
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
