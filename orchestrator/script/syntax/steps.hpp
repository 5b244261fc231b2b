// Groups the metrics that a script's lines hold into steps.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/lines.hpp"
#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// Groups lines into steps. A step ends when the objective's metric has been read `reports` times. It includes all
/// metrics that were read since the previous step, with the last value of each name. An unfinished step at the end is
/// dropped unless there was no other step.
class StepReader {
   public:
    static constexpr std::size_t streams = 2;

    StepReader(std::unique_ptr<LineReader> reader, std::string objective, std::int64_t reports = 1)
        : reader_(std::move(reader)), objective_(std::move(objective)), reports_(reports) {}

    /// Reads bytes of a stream. Lines of different streams are kept apart.
    void feed(std::string_view bytes, std::size_t stream = 0);
    /// Takes the metrics of a line that was read elsewhere.
    void add(const Metrics& found, std::string_view text);
    /// Reads the last line if it has no newline. Must be called at the end.
    void finish();
    /// Returns the oldest step that has not been taken yet, or nothing if there is none.
    std::optional<Metrics> take();
    [[nodiscard]] std::size_t waiting() const { return steps_.size(); }
    /// Returns what was read since the last step.
    [[nodiscard]] const Metrics& seen() const { return open_; }
    /// Returns the line that most resembles a report of the objective, as long as the objective has not been read. May
    /// be empty.
    [[nodiscard]] const std::string& nearest() const { return nearest_; }
    /// See LineReader::warning().
    [[nodiscard]] std::string warning() { return reader_->warning(); }

   private:
    void line(std::string_view text);
    void consider(std::string_view text);

    std::unique_ptr<LineReader> reader_;
    std::string objective_;
    std::int64_t reports_;
    std::int64_t reported_ = 0;  ///< reports of the objective in the unfinished step
    std::array<LineSplitter, streams> lines_{LineSplitter{max_text_line}, LineSplitter{max_text_line}};
    Metrics open_;  ///< of the unfinished step
    std::deque<Metrics> steps_;
    bool stepped_ = false;  ///< true once there was a step
    std::string nearest_;
    int likeness_ = 0;  ///< of `nearest_`
};

}  // namespace hpo::script
