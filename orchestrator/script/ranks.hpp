// The ranks of a trial that several processes train together (`resources.trial.processes`): what they are told, what
// the end of one means for the others, and how their lines are told apart. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Splits the output of a rank other than 0 into lines for the log, with its label as PyTorch writes it,
/// `[rank2]: loss=0.3`, and keeps the last ones. Of a line that is drawn again and again (a progress bar), the last
/// state is kept.
class RankLines {
   public:
    explicit RankLines(std::size_t rank) : rank_(rank), label_("[rank" + std::to_string(rank) + "]: ") {}
    /// Returns the lines that are complete with these bytes, each with its label and its newline. A line without an
    /// end is cut after 16 KiB. A line that has the rank's label already gets no second one.
    std::string feed(std::string_view bytes);
    /// Returns the line that has no newline yet, with one.
    std::string rest();
    /// Returns the last 8 to 16 KiB of the lines, without the labels.
    [[nodiscard]] const std::string& tail() const { return tail_; }

   private:
    void end_line(std::string& lines);

    std::size_t rank_;
    std::string label_, line_, tail_;
    bool returned_ = false;  ///< the line ends with a carriage return, so that the next character begins it anew
};

/// Returns the last line in the log of a trial of which a rank has failed, without its newline.
std::string failure_line(const RankEnds::Failure& failure);

}  // namespace hpo::script
