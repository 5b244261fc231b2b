// Tells which numbers in brackets are averages so far, as in "0.8 (0.9)".
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/script/syntax/tokens.hpp"

namespace hpo::script {

/// The names of an output whose numbers in brackets are averages so far: "0.8 (0.9)". Lines with the progress of
/// batches show them. In other lines these numbers are averages as well if the line is of the same kind or speaks of
/// averages; otherwise they may be deviations, changes or best values. The kind of a line is its first word.
class Averages {
   public:
    using Words = std::vector<std::string_view>;

    /// `epochs` is the number of epochs of the trial; 0 if it is unknown.
    explicit Averages(std::int64_t epochs) : epochs_(epochs) {}

    [[nodiscard]] std::int64_t epochs() const { return epochs_; }
    [[nodiscard]] bool empty() const { return known_.empty(); }
    /// Notes an average of the metric with these words in this line, which shows the progress of batches.
    void add(const Words& words, std::span<const Token> line);
    /// Returns true if the number in brackets at a token of the line, behind another number of these words, is the
    /// average of a name that has had one beside the progress of batches.
    [[nodiscard]] bool has(const Words& words, std::span<const Token> line, std::size_t at) const;

   private:
    std::int64_t epochs_;
    std::set<std::string> known_;  ///< names, also behind the kind of their line and a blank
};

}  // namespace hpo::script
