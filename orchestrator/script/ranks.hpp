// The ranks of a trial that several processes train together (`resources.trial.processes`): what they are told, what
// the end of one means for the others, and how the adapter learns which one failed. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// Returns the variables (NAME=value) by which PyTorch, and what is built on it, knows a rank of `count` on one host.
/// `port` is the one at which rank 0 listens for the others.
std::vector<std::string> rank_variables(std::size_t rank, std::size_t count, std::uint16_t port);

/// Follows the ends of the ranks. The first rank that fails ends the others.
class RankEnds {
   public:
    struct Failure {
        std::size_t rank = 0;
        int status = 0;  ///< as waitpid() returns it
    };

    explicit RankEnds(std::size_t count) : left_(count) {}
    /// Notes the end of a rank. Returns true if it is the first one that failed.
    bool ended(std::size_t rank, int status);
    [[nodiscard]] bool all_ended() const { return left_ == 0; }
    [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

   private:
    std::size_t left_;
    std::optional<Failure> failure_;
};

/// Writes the lines of a rank other than 0 with its label, `[rank2]: loss=0.3`, as PyTorch does. Of a line that is
/// drawn again and again (a progress bar), the last state is kept.
class LabelledLines {
   public:
    explicit LabelledLines(std::size_t rank) : label_("[rank" + std::to_string(rank) + "]: ") {}
    /// Returns the lines that are complete with these bytes, each with its newline. A line without an end is cut after
    /// 3 KiB, so that it is written at once beside the lines of others.
    std::string feed(std::string_view bytes);
    /// Returns the line that has no newline yet, with one.
    std::string rest();

   private:
    void end_line(std::string& lines);

    std::string label_, line_;
    bool returned_ = false;  ///< the line ends with a carriage return, so that the next character begins it anew
};

/// Returns the last line of the output of a trial of which a rank has failed, without its newline.
std::string failure_line(const RankEnds::Failure& failure);

/// Returns a reader of the output of all ranks, in which what others than rank 0 print is never the objective.
/// `labels`: their metrics are read, as rank1_loss; false for patterns, which would not label them.
std::unique_ptr<LineReader> reader_of_rank_0(std::unique_ptr<LineReader> reader, bool labels);

struct FailedRank {
    std::size_t rank = 0;
    std::string output;  ///< its lines, without their labels
};
/// Returns the rank that a failure_line() at the end of the output names. Returns nothing if there is none.
std::optional<FailedRank> failed_rank(std::string_view output);

}  // namespace hpo::script
