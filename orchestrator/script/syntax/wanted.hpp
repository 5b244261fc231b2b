// Finds the metrics that a study needs under the names by which a script prints them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// Decides once which printed name is a needed metric, so that no other number is ever taken for it: the name itself;
/// the name spelled differently (metric_names.hpp); or the name below a label, as val_Acc for Acc, where the label of
/// validation data is preferred. Until settle() a better name replaces a worse one.
class WantedMetrics {
   public:
    explicit WantedMetrics(const std::vector<std::string>& names);

    struct Value {
        std::string name;  ///< the study's name if it is needed, otherwise the printed one in full
        double number = 0;
        std::string bare{};  ///< the printed name without the label of its line
        std::string unit{};
        Doubt doubt = Doubt::none;
        std::string replaced{};  ///< the printed name that was used before this better one; empty if there was none
    };
    /// Returns the line's metrics by name.
    /// Leaves out numbers of a needed metric whose unit is not that of its first number.
    std::vector<Value> find_in(const Reading& reading);

    /// Keeps to the names found so far.
    void settle();
    /// Returns the name by which the metric was printed last, without the label of its line; empty before.
    [[nodiscard]] std::string printed_bare(std::string_view name) const;
    /// Returns true if this metric was found only below the label of training data or of another process, so that a
    /// better name may follow.
    [[nodiscard]] bool is_doubtful(std::string_view name) const;

    /// Returns the reason for which the values are not those of a needed metric, with the cure: its very name came
    /// after another one had been settled, or its last line has a list of numbers. Returns an empty text if there is
    /// none.
    [[nodiscard]] const std::string& refusal() const { return refusal_.empty() ? list_ : refusal_; }

    /// Returns a warning about a needed metric that is printed under two names, or whose number is not sure, or else
    /// the name by which it is printed, if that has other words. Each is returned once.
    std::string warning();

   private:
    struct Source {
        std::string printed, bare;
        int rank = 0;  ///< lower is better
    };
    struct Wanted {
        std::string name;
        std::optional<Source> source;
        std::optional<std::string> unit;   ///< of its first number
        std::optional<double> last;        ///< its last number
        std::string twin{};                ///< a further name of training data, of which nobody is told as yet
        std::map<std::string, int> ranks;  ///< of printed names, so that each is compared once
    };

    void note_twin(const Wanted& wanted, const NamedNumber& metric, int rank, const Reading& reading);
    void note_scale(Wanted& wanted, const NamedNumber& metric, const Reading& reading);
    void note_synonym(const Wanted& wanted);
    static int rank_of(const NamedNumber& metric, const std::string& name);
    /// `used` is true if `other` is used, and not `first`.
    void warn(std::string text);
    void warn(const Wanted& wanted, const std::string& first, const std::string& other, bool used);

    std::vector<Wanted> wanted_;
    bool settled_ = false;
    std::string warning_, note_, refusal_;
    std::string list_;  ///< the refusal of the last line, if it has a list of numbers
    bool warned_ = false;
};

}  // namespace hpo::script
