// The part of a line that is being read: the words before the next number, and the pairs of words and numbers so far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/script/syntax/averages.hpp"
#include "orchestrator/script/syntax/labelled_metrics.hpp"
#include "orchestrator/script/syntax/token_line.hpp"

namespace hpo::script {

/// Follows the place in the line, its progress, and which numbers in brackets are averages.
class LinePart : protected TokenLine {
   protected:
    using Words = std::vector<std::string_view>;

    LinePart(std::vector<Token> tokens, const std::string& label, Averages& averages, Reading& reading)
        : TokenLine(std::move(tokens)), metrics_(label, reading), averages_(averages), reading_(reading) {}

    /// Returns true if one of the first words is of a metric.
    [[nodiscard]] bool names_metric(std::size_t count) const;
    /// Sets the epoch if these words before its number are about the epoch of the line.
    void note_epoch(double number);
    void note_progress(std::size_t at);
    /// Notes the progress of the number before this token, behind a label, a counter or nothing, and moves behind it:
    /// "epoch 5  1000 / 8223 loss=2.5", "valid subset  100 / 131 loss=3.5".
    bool note_spaced_progress();
    /// Returns true if the ratio at this token, of this total, is the progress of batches, and not of epochs, folds and
    /// the like. A ratio without a name may count epochs unless the line names its epoch.
    [[nodiscard]] bool counts_batches(std::size_t at, std::int64_t total) const;
    void skip_unit();
    void end_part_at(const Token& token);
    /// Ends a part of the line. Its pairs without separators are metrics unless it has other words.
    void end_part();
    void drop_part();

    /// Reads the average behind the value of a batch, and moves behind it: "0.8 (0.9)" on a line with its progress, as
    /// PyTorch's ImageNet example and timm print it, or "0.8 (avg: 0.9)". Returns nothing if there is none.
    std::optional<double> average_at(std::size_t at, double of_batch);
    /// Returns the doubt about the number that ends before this token and is no average.
    [[nodiscard]] Doubt doubt_of(std::size_t at) const;
    /// Returns the doubt because of a number in brackets at this token, as doubt_at() does, or where the line or the
    /// output may show averages, which can be negative.
    [[nodiscard]] Doubt doubt_of_bracket(std::size_t at) const;

    std::size_t at_ = 0;     ///< the next token
    Words words_;            ///< before the next separator or number
    std::string qualifier_;  ///< the words in brackets after them
    bool scaled_ = false;    ///< true if a power of ten is in brackets after them
    std::vector<PrintedMetric> pairs_;
    bool prose_ = false;     ///< true if this part of the line has words without a number
    std::size_t depth_ = 0;  ///< of brackets
    LabelledMetrics metrics_;
    std::optional<std::pair<std::int64_t, std::int64_t>> batches_;  ///< the progress of batches
    Averages& averages_;
    Reading& reading_;
};

}  // namespace hpo::script
