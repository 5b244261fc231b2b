// Several metrics that a line shows at once: names and numbers in groups, and pairs in quotes.
#pragma once

#include "orchestrator/script/syntax/line_name.hpp"

namespace hpo::script {

/// Reads groups of metrics. Each function returns true if it has read one, and moves behind it.
class MetricGroups : protected LineName {
   protected:
    static constexpr std::size_t max_words = 12;  ///< of a name with a separator

    using LineName::LineName;

    /// Reads several metrics with their numbers: "Train/Valid Acc: 0.7/0.6", "loss / acc: 0.5 / 0.7", and where each
    /// word is of a metric "precision recall f1 = 0.5 0.6 0.7". In "val/acc: 9/10" the sign is a part of a name.
    bool read_several(std::size_t at);
    /// Reads the numbers of several phases in brackets: "acc: (train=0.92, test=0.91)".
    bool read_phases(std::size_t at);
    /// Reads names in brackets that have their numbers in brackets: "(loss, acc) = (0.5, 0.7)".
    bool read_tuple();
    /// Reads a name in quotes with its number, as Python shows the items of a dictionary: "[('loss', 0.5), ('acc',
    /// 1)]".
    bool read_quoted_pair();
    /// Returns true if a list of pairs in brackets begins behind this word: "OrderedDict([('loss', 0.5)])".
    [[nodiscard]] bool holds_pairs(std::size_t word) const;
};

}  // namespace hpo::script
