// A law of memory, fitted to few measurements: a sum of terms over the parameters, each with a coefficient that is not
// negative. Pure and deterministic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hpo {

/// One factor of a term: a number of a configuration to a power, or whether a categorical has a value.
struct Factor {
    std::size_t column = 0;
    int power = 1;  ///< -1, 1; categorical: 0
    double level = 0;
    bool operator==(const Factor&) const = default;
};

/// Product of its factors; none: a constant.
using Term = std::vector<Factor>;

/// The columns of a table.
enum class Column {
    whole,        ///< sizes and counts: their products, up to three at a time, and ratios may drive memory
    real,         ///< by themselves and times a whole number
    categorical,  ///< levels are numbers given to the values
};

using Row = std::vector<double>;

/// Terms enter one by one (forward stepwise, "The Elements of Statistical Learning", section 3.3), fitted by least
/// squares of relative errors; how many is decided by cross-validation that repeats the whole choice in each fold,
/// whose errors then also say how wrong the law may be on unseen rows (CV+: Barber, Candes, Ramdas,
/// Tibshirani, "Predictive inference with the jackknife+", Annals of Statistics 2021).
class MemoryFit {
   public:
    /// Fits a law; nothing for fewer than `least_rows` rows. Each of `rows` has the size of `columns`; `bytes` > 0.
    static std::optional<MemoryFit> of(const std::vector<Column>& columns, const std::vector<Row>& rows,
                                       const std::vector<double>& bytes);
    static constexpr std::size_t least_rows = 5;

    [[nodiscard]] double expected(const Row& row) const;
    /// A bound that hardly any trial of this row exceeds; grows with the distance from the rows seen (leverage).
    [[nodiscard]] double bound(const Row& row) const;
    /// Mean of bound / bytes in the cross-validation: the cost of trusting it.
    [[nodiscard]] double cost() const { return cost_; }
    [[nodiscard]] bool uses(std::size_t column) const;

   private:
    struct Law {
        std::vector<Term> terms;
        std::vector<double> coefficients;
        std::vector<double> inverse;  ///< of the terms' normal matrix, terms x terms
        [[nodiscard]] double at(const Row& row) const;
        [[nodiscard]] double spread(const Row& row) const;  ///< sqrt(1 + leverage)
    };
    static Law fit(const std::vector<Term>& terms, const std::vector<Row>& rows, const std::vector<double>& bytes);
    static std::vector<Law> path(const std::vector<Term>& candidates, const std::vector<Row>& rows,
                                 const std::vector<double>& bytes, std::size_t longest);

    Law law_;
    double margin_ = 0;  ///< of the expected, per unit of spread
    double cost_ = 0;
};

}  // namespace hpo
