#include "orchestrator/scheduling/memory_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hpo/solve.hpp"

namespace hpo {
namespace {

constexpr std::size_t longest_law = 6;     ///< terms
constexpr std::size_t folds_at_most = 12;  ///< of the cross-validation
constexpr std::size_t numbers_in_products = 8;
constexpr double least_pivot = 1e-11;  ///< of scaled normal equations; below it their terms are dependent
/// The law is chosen by the errors that its margin comes from: with n rows the margin is 1 + few_rows / n times theirs.
/// Found on random laws (footprints_test.cpp) as the least that lets the bound hold 99 times in 100 from 8 rows on.
constexpr double few_rows = 12;

double value_of(const Term& term, const Row& row) {
    double product = 1;
    for (const Factor& factor : term) {
        const double x = row[factor.column];
        if (factor.power == 0)
            product *= x == factor.level ? 1 : 0;
        else if (factor.power > 0)
            product *= std::max(x, 0.0);
        else
            product *= x > 0 ? 1 / x : 0;
    }
    return product;
}

/// The columns of a kind that vary, those first that go best with the bytes; at most `most`.
std::vector<std::size_t> drivers(Column kind, std::size_t most, const std::vector<Column>& columns,
                                 const std::vector<Row>& rows, const std::vector<double>& bytes) {
    std::vector<std::pair<double, std::size_t>> found;
    const double n = double(rows.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (columns[c] != kind) continue;
        double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double x = std::log1p(std::max(rows[i][c], 0.0)), y = std::log(bytes[i]);
            sx += x, sy += y, sxx += x * x, syy += y * y, sxy += x * y;
        }
        const double vx = sxx - sx * sx / n, vy = syy - sy * sy / n;
        if (vx <= 1e-12 * (1 + sxx)) continue;
        found.emplace_back(vy > 0 ? -std::abs(sxy - sx * sy / n) / std::sqrt(vx * vy) : 0, c);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::size_t> chosen;
    for (const auto& [score, column] : found)
        if (chosen.size() < most) chosen.push_back(column);
    return chosen;
}

/// The simpler ones first.
std::vector<Term> candidates_of(const std::vector<Column>& columns, const std::vector<Row>& rows,
                                const std::vector<double>& bytes) {
    const auto whole = drivers(Column::whole, numbers_in_products, columns, rows, bytes);
    const auto real = drivers(Column::real, numbers_in_products, columns, rows, bytes);
    std::vector<Term> terms;
    for (const auto a : whole) terms.push_back({{a}});
    for (const auto a : real) terms.push_back({{a}});
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (columns[c] != Column::categorical) continue;
        std::vector<double> levels;
        for (const Row& row : rows) levels.push_back(row[c]);
        std::sort(levels.begin(), levels.end());
        for (auto first = levels.begin(); first != levels.end();) {
            const auto last = std::upper_bound(first, levels.end(), *first);
            if (last - first >= 2 && last - first < std::ptrdiff_t(rows.size())) terms.push_back({{c, 0, *first}});
            first = last;
        }
    }
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (std::size_t j = i; j < whole.size(); ++j) terms.push_back({{whole[i]}, {whole[j]}});
    for (const auto a : whole)
        for (const auto b : real) terms.push_back({{a}, {b}});
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (std::size_t j = i; j < whole.size(); ++j)
            for (std::size_t k = j; k < whole.size(); ++k) terms.push_back({{whole[i]}, {whole[j]}, {whole[k]}});
    for (const auto a : whole) terms.push_back({{a, -1}});
    for (const auto a : whole)
        for (const auto b : whole)
            if (a != b) terms.push_back({{a}, {b, -1}});
    return terms;
}

/// Student's t, 99.5 %: the expansion of Cornish and Fisher.
double t_quantile(double degrees) {
    const double v = std::max(degrees, 1.0);
    return 2.576 + 4.917 / v + 8.84 / (v * v);
}

using Columns = std::vector<std::vector<double>>;

/// Candidates by how much they explain of the residual of `basis` (orthonormal), best first.
std::vector<std::size_t> best_next(const Columns& values, const Columns& basis, const std::vector<double>& rest) {
    std::vector<std::pair<double, std::size_t>> gains;
    std::vector<double> column;
    for (std::size_t t = 0; t < values.size(); ++t) {
        column = values[t];
        const double before = std::inner_product(column.begin(), column.end(), column.begin(), 0.0);
        for (const auto& q : basis) {
            const double along = std::inner_product(q.begin(), q.end(), column.begin(), 0.0);
            for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * q[i];
        }
        const double left = std::inner_product(column.begin(), column.end(), column.begin(), 0.0);
        if (!(left > 1e-8 * before)) continue;
        const double along = std::inner_product(column.begin(), column.end(), rest.begin(), 0.0);
        if (along > 0) gains.emplace_back(-along * along / left, t);
    }
    std::stable_sort(gains.begin(), gains.end());
    std::vector<std::size_t> order;
    for (const auto& [gain, term] : gains)
        if (order.size() < 6) order.push_back(term);
    return order;
}

}  // namespace

double MemoryFit::Law::at(const Row& row) const {
    double sum = 0;
    for (std::size_t t = 0; t < terms.size(); ++t) sum += coefficients[t] * value_of(terms[t], row);
    return sum;
}

double MemoryFit::Law::spread(const Row& row) const {
    const double expected = at(row);
    if (!(expected > 0)) return 1;
    std::vector<double> values;
    for (const Term& term : terms) values.push_back(value_of(term, row) / expected);
    double leverage = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = 0; j < values.size(); ++j)
            leverage += values[i] * inverse[i * values.size() + j] * values[j];
    return std::sqrt(1 + std::max(leverage, 0.0));
}

/// Fits by least squares of relative errors. Without coefficients if the terms are dependent.
MemoryFit::Law MemoryFit::fit(const std::vector<Term>& terms, const std::vector<Row>& rows,
                              const std::vector<double>& bytes) {
    const std::size_t size = terms.size();
    Columns values(size);
    std::vector<double> scale(size, 0);
    for (std::size_t t = 0; t < size; ++t) {
        for (std::size_t i = 0; i < rows.size(); ++i) values[t].push_back(value_of(terms[t], rows[i]) / bytes[i]);
        scale[t] = std::sqrt(std::inner_product(values[t].begin(), values[t].end(), values[t].begin(), 0.0));
        if (!(scale[t] > 0)) return {};
    }
    std::vector<double> normal(size * size), right(size);
    for (std::size_t a = 0; a < size; ++a) {
        for (std::size_t b = 0; b < size; ++b)
            normal[a * size + b] =
                std::inner_product(values[a].begin(), values[a].end(), values[b].begin(), 0.0) / (scale[a] * scale[b]);
        right[a] = std::accumulate(values[a].begin(), values[a].end(), 0.0) / scale[a];
    }
    Law law{terms, std::vector<double>(size, 0), inverse(normal, size, least_pivot)};
    if (law.inverse.empty()) return {};
    for (std::size_t a = 0; a < size; ++a)
        for (std::size_t b = 0; b < size; ++b) {
            law.coefficients[a] += law.inverse[a * size + b] * right[b] / scale[a];
            law.inverse[a * size + b] /= scale[a] * scale[b];
        }
    return law;
}

/// Laws of 1, 2, ... terms, each with one term more than the one before.
std::vector<MemoryFit::Law> MemoryFit::path(const std::vector<Term>& candidates, const std::vector<Row>& rows,
                                            const std::vector<double>& bytes, std::size_t longest) {
    std::vector<Term> open{{}};  // a constant
    open.insert(open.end(), candidates.begin(), candidates.end());
    std::vector<Law> laws;
    std::vector<Term> chosen{{}};
    const auto values_of = [&](const Term& term) {
        std::vector<double> values;
        for (std::size_t i = 0; i < rows.size(); ++i) values.push_back(value_of(term, rows[i]) / bytes[i]);
        return values;
    };
    Columns values;
    for (const Term& term : open) values.push_back(values_of(term));
    laws.push_back(fit(chosen, rows, bytes));
    while (chosen.size() < longest) {
        Columns basis;
        std::vector<double> rest(rows.size(), 1.0);
        for (const Term& term : chosen) {
            std::vector<double> column = values_of(term);
            for (const auto& q : basis) {
                const double along = std::inner_product(q.begin(), q.end(), column.begin(), 0.0);
                for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * q[i];
            }
            const double norm = std::sqrt(std::inner_product(column.begin(), column.end(), column.begin(), 0.0));
            for (double& v : column) v /= norm;
            const double along = std::inner_product(column.begin(), column.end(), rest.begin(), 0.0);
            for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= along * column[i];
            basis.push_back(std::move(column));
        }
        bool grew = false;
        for (const std::size_t next : best_next(values, basis, rest)) {
            std::vector<Term> terms = chosen;
            terms.push_back(open[next]);
            Law law = fit(terms, rows, bytes);
            // The rest, without negative shares: memory is a sum of parts.
            while (!law.coefficients.empty() && law.terms.size() > 1) {
                const auto least = std::min_element(law.coefficients.begin(), law.coefficients.end());
                if (*least >= 0) break;
                terms.erase(terms.begin() + (least - law.coefficients.begin()));
                law = fit(terms, rows, bytes);
            }
            if (law.coefficients.empty() || law.coefficients.front() < 0 || terms.size() < chosen.size()) continue;
            if (terms == chosen) continue;
            chosen = std::move(terms);
            laws.push_back(std::move(law));
            // A categorical may change the factor of a part of the memory.
            for (const Term& term : candidates)
                if (term.size() == 1 && term.front().power == 0 && !open[next].empty() && open[next].size() < 4) {
                    Term both = open[next];
                    both.push_back(term.front());
                    values.push_back(values_of(both));
                    open.push_back(std::move(both));
                }
            grew = true;
            break;
        }
        if (!grew || laws.size() >= longest) break;
    }
    return laws;
}

std::optional<MemoryFit> MemoryFit::of(const std::vector<Column>& columns, const std::vector<Row>& rows,
                                       const std::vector<double>& bytes) {
    const std::size_t n = rows.size();
    if (n < least_rows) return std::nullopt;
    const std::size_t longest = std::min(longest_law, std::max<std::size_t>(2, n / 2));
    const std::vector<Term> candidates = candidates_of(columns, rows, bytes);
    const std::vector<Law> laws = path(candidates, rows, bytes, longest);

    // Errors on rows that the law has not seen, relative to its predictions: one list for each length of the path.
    const std::size_t folds = std::min(n, folds_at_most);
    std::vector<std::vector<double>> errors(laws.size()), spreads(laws.size());
    for (std::size_t fold = 0; fold < folds; ++fold) {
        std::vector<Row> seen;
        std::vector<double> seen_bytes;
        for (std::size_t i = 0; i < n; ++i)
            if (i % folds != fold) seen.push_back(rows[i]), seen_bytes.push_back(bytes[i]);
        const std::vector<Law> others = path(candidates, seen, seen_bytes, std::min(longest, seen.size() - 1));
        for (std::size_t length = 0; length < laws.size(); ++length) {
            const Law& law = others[std::min(length, others.size() - 1)];
            for (std::size_t i = fold; i < n; i += folds) {
                const double expected = law.at(rows[i]), spread = law.spread(rows[i]);
                errors[length].push_back(expected > 0 ? (bytes[i] - expected) / (expected * spread) : 1e3);
                spreads[length].push_back(spread);
            }
        }
    }
    std::optional<MemoryFit> best;
    for (std::size_t length = 0; length < laws.size(); ++length) {
        double squares = 0, largest = 0, cost = 0;
        for (const double error : errors[length]) squares += error * error, largest = std::max(largest, error);
        MemoryFit fit;
        fit.law_ = laws[length];
        const double degrees = double(n) - double(fit.law_.terms.size());
        fit.margin_ =
            (1 + few_rows / double(n)) * std::max(largest, t_quantile(degrees) * std::sqrt(squares / double(n)));
        for (std::size_t i = 0; i < n; ++i) {
            const double spread = spreads[length][i];
            cost += (1 + fit.margin_ * spread) / (1 + errors[length][i] * spread) / double(n);
        }
        fit.cost_ = cost;
        if (!best || fit.cost_ < best->cost_ * 0.99) best = std::move(fit);
    }
    return best;
}

double MemoryFit::expected(const Row& row) const { return law_.at(row); }

double MemoryFit::bound(const Row& row) const { return law_.at(row) * (1 + margin_ * law_.spread(row)); }

bool MemoryFit::uses(std::size_t column) const {
    return std::any_of(law_.terms.begin(), law_.terms.end(), [&](const Term& term) {
        return std::any_of(term.begin(), term.end(), [&](const Factor& f) { return f.column == column; });
    });
}

}  // namespace hpo
