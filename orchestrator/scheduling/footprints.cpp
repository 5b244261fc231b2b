#include "orchestrator/scheduling/footprints.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "hpo/text.hpp"
#include "orchestrator/scheduling/memory_fit.hpp"

namespace hpo {
namespace {

constexpr double least_error = 64.0 * 1024 * 1024;  // bytes
constexpr double relative_error = 0.05;
constexpr std::size_t rows_at_most = 96;  // in a fit
constexpr std::size_t rows_kept = 256;    // against which a fit is checked: each prediction looks at all of them
constexpr double unlike = 1.25;           // factor for each categorical that differs, at most 2 for all of them
constexpr double never_seen = 1.5;        // factor of the largest peak
constexpr double furthest = 8;            // largest factor of an extrapolation
constexpr double largest_bytes = 0x1.0p62;

double with_error(double bytes) { return bytes > 0 ? bytes + std::max(relative_error * bytes, least_error) : 0; }

std::int64_t whole_bytes(double bytes) {
    return static_cast<std::int64_t>(std::ceil(std::clamp(bytes, 0.0, largest_bytes)));
}

/// Configurations as rows of numbers.
class Table {
   public:
    /// True if the rows have changed their form.
    bool add(const Params& params) {
        form_changed_ = false;
        for (const auto& [name, value] : params) {
            if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value); list) {
                note(name + " (sum)", Column::whole);
                note(name + " (pairs)", Column::whole);
            } else if (std::holds_alternative<std::int64_t>(value)) {
                note(name, Column::whole);
            } else if (std::holds_alternative<double>(value)) {
                note(name, Column::real);
            } else {
                note(name, Column::categorical);
                auto& known = levels_[name];
                known.emplace(to_text(value), double(known.size() + 1));
            }
        }
        return form_changed_;
    }

    /// Absent: 0, for a categorical a level of its own; a value never seen: -1.
    [[nodiscard]] Row row(const Params& params) const {
        Row row(columns_.size(), 0);
        for (const auto& [name, value] : params) {
            if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value); list) {
                double sum = 0, pairs = 0;
                for (std::size_t i = 0; i < list->size(); ++i) {
                    sum += double((*list)[i]);
                    if (i > 0) pairs += double((*list)[i - 1]) * double((*list)[i]);
                }
                set(row, name + " (sum)", sum);
                set(row, name + " (pairs)", pairs);
            } else if (const auto column = names_.find(name); column == names_.end()) {
                continue;
            } else if (columns_[column->second] == Column::categorical) {
                const auto& known = levels_.at(name);
                const auto level = known.find(to_text(value));
                row[column->second] = level == known.end() ? -1 : level->second;
            } else {
                row[column->second] = std::clamp(number_or(value, 0), -1e15, 1e15);
            }
        }
        return row;
    }

    [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
    /// Returns true if memory is taken to grow in proportion to the column while nothing is known of its effect: sizes
    /// and counts.
    [[nodiscard]] bool scales(std::size_t column) const { return columns_[column] == Column::whole && !pairs_[column]; }

   private:
    void note(const std::string& name, Column kind) {
        const auto [column, fresh] = names_.emplace(name, columns_.size());
        form_changed_ |= fresh;
        if (fresh) {
            columns_.push_back(kind);
            pairs_.push_back(name.ends_with(" (pairs)"));
        } else if (columns_[column->second] == Column::whole && kind == Column::real) {
            columns_[column->second] = kind;
            form_changed_ = true;
        }
    }
    void set(Row& row, const std::string& name, double value) const {
        if (const auto column = names_.find(name); column != names_.end()) row[column->second] = value;
    }

    std::map<std::string, std::size_t> names_;
    std::vector<Column> columns_;
    std::vector<bool> pairs_;
    std::map<std::string, std::map<std::string, double>> levels_;
    bool form_changed_ = false;
};

/// The knowledge of one kind of memory.
class Knowledge {
   public:
    void learn(const Table& table, std::vector<Row> rows, std::vector<double> bytes) {
        rows_ = std::move(rows), bytes_ = std::move(bytes);
        largest_ = *std::max_element(bytes_.begin(), bytes_.end());
        // Evenly from all there is; the rest tests the law.
        std::vector<Row> fitted;
        std::vector<double> fitted_bytes;
        const std::size_t count = std::min(rows_.size(), rows_at_most);
        for (std::size_t i = 0; i < count; ++i) {
            fitted.push_back(rows_[i * rows_.size() / count]);
            fitted_bytes.push_back(bytes_[i * rows_.size() / count]);
        }
        learn_range(table);
        learn_proportion(table, fitted, fitted_bytes);
        fit_ = MemoryFit::of(table.columns(), fitted, fitted_bytes);
        worst_ = 1;
        if (fit_ && fit_->cost() > proportion_cost_) fit_.reset();
        for (std::size_t i = 0; fit_ && i < rows_.size(); ++i)
            if (const double bound = fit_->bound(rows_[i]); bound > 0) worst_ = std::max(worst_, bytes_[i] / bound);
    }

    [[nodiscard]] std::size_t count() const { return rows_.size(); }
    [[nodiscard]] bool fitted() const { return fit_.has_value(); }

    [[nodiscard]] double bound(const Table& table, const Row& row) const {
        double bound = 0;
        if (fit_) {
            const double beyond = extrapolation(table, row);
            bound = std::max(fit_->bound(row) * worst_, with_error(fit_->expected(row))) * beyond;
        }
        if (!(bound > 0 && std::isfinite(bound))) {
            bound = proportion(table, row, proportion_rows_, proportion_bytes_, rows_.size());
            bound = std::max(bound * raise_, with_error(bound));
        }
        if (unseen_level(table, row)) bound = std::max(bound, never_seen * largest_);
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (alike(table, row, rows_[i])) bound = std::max(bound, with_error(bytes_[i]));
        return bound;
    }

   private:
    void learn_range(const Table& table) {
        low_ = high_ = rows_.front();
        for (const Row& row : rows_)
            for (std::size_t c = 0; c < table.columns().size(); ++c)
                low_[c] = std::min(low_[c], row[c]), high_[c] = std::max(high_[c], row[c]);
    }

    void learn_proportion(const Table& table, const std::vector<Row>& rows, const std::vector<double>& bytes) {
        proportion_rows_ = rows, proportion_bytes_ = bytes;
        raise_ = 1;
        double cost = 0;
        std::vector<double> ratios;
        for (std::size_t i = 0; rows.size() > 1 && i < rows.size(); ++i) {
            ratios.push_back(bytes[i] / proportion(table, rows[i], rows, bytes, i));
            raise_ = std::max(raise_, ratios.back());
        }
        raise_ *= 1 + 1.0 / double(rows.size());
        for (const double ratio : ratios) cost += raise_ / ratio / double(ratios.size());
        proportion_cost_ = ratios.empty() ? std::numeric_limits<double>::infinity() : cost;
    }

    /// `left_out`: a row that does not count; none: a number beyond them.
    static double proportion(const Table& table, const Row& row, const std::vector<Row>& rows,
                             const std::vector<double>& bytes, std::size_t left_out) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i == left_out) continue;
            double larger = 1, different = 1;
            for (std::size_t c = 0; c < row.size(); ++c) {
                if (table.columns()[c] == Column::categorical) {
                    if (row[c] != rows[i][c]) different *= unlike;
                } else if (table.scales(c) && row[c] > rows[i][c]) {
                    larger *= rows[i][c] > 0 ? row[c] / rows[i][c] : 2;
                }
            }
            least = std::min(least, bytes[i] * std::min(larger, furthest) * std::min(different, 2.0));
        }
        return least;
    }

    /// Returns the factor for whole numbers that are larger than all those measured and had no chance to show an
    /// effect.
    [[nodiscard]] double extrapolation(const Table& table, const Row& row) const {
        double factor = 1;
        for (std::size_t c = 0; c < row.size(); ++c) {
            if (!table.scales(c) || row[c] <= high_[c] || fit_->uses(c)) continue;
            const bool varied = high_[c] >= 1.5 * low_[c] && high_[c] > low_[c];
            const double seen = varied ? 2 * high_[c] : high_[c];  // no effect so far: believed for twice as far
            if (row[c] > seen) factor *= seen > 0 ? row[c] / seen : 2;
        }
        return std::min(factor, furthest);
    }

    [[nodiscard]] bool unseen_level(const Table& table, const Row& row) const {
        for (std::size_t c = 0; c < row.size(); ++c)
            if (table.columns()[c] == Column::categorical &&
                std::none_of(rows_.begin(), rows_.end(), [&](const Row& seen) { return seen[c] == row[c]; }))
                return true;
        return false;
    }

    /// Like the above, except for reals that the law does not use, and for small differences in those that it does.
    [[nodiscard]] bool alike(const Table& table, const Row& one, const Row& other) const {
        for (std::size_t c = 0; c < one.size(); ++c) {
            if (one[c] == other[c]) continue;
            const bool used = !fit_ || fit_->uses(c);
            if (table.columns()[c] != Column::real) return false;
            if (used && std::abs(one[c] - other[c]) > 0.02 * (high_[c] - low_[c])) return false;
        }
        return true;
    }

    std::vector<Row> rows_;
    std::vector<double> bytes_;
    double largest_ = 0;
    Row low_, high_;
    std::vector<Row> proportion_rows_;
    std::vector<double> proportion_bytes_;
    double raise_ = 1;            ///< of the bound in proportion, from leaving one out
    double proportion_cost_ = 0;  ///< mean of bound / taken
    std::optional<MemoryFit> fit_;
    double worst_ = 1;  ///< largest taken / bound of any configuration
};

}  // namespace

Footprint with_measurement_error(const Footprint& peak) {
    return {whole_bytes(with_error(double(peak.device_bytes))), whole_bytes(with_error(double(peak.host_bytes))),
            peak.cores};
}

struct FootprintModel::Impl {
    DeclaredFootprint declared;
    bool on_device = false;
    std::map<Params, Footprint> peaks;
    Table table;
    std::int64_t largest_host = 0, largest_device = 0;
    std::size_t fitted_at = 0;  ///< configurations then
    bool due = true;
    Knowledge host, device;

    void learn() {
        if (!due) return;
        due = false;
        fitted_at = peaks.size();
        learn(host, &Footprint::host_bytes);
        learn(device, &Footprint::device_bytes);
    }
    void learn(Knowledge& knowledge, std::int64_t Footprint::*kind) const {
        std::vector<std::pair<const Params*, double>> known;
        for (const auto& [params, peak] : peaks)
            if (peak.*kind > 0) known.emplace_back(&params, double(peak.*kind));
        // Keeps some of very many rows, evenly spread, and always the largest.
        const auto largest = std::max_element(known.begin(), known.end(),
                                              [](const auto& a, const auto& b) { return a.second < b.second; });
        std::vector<Row> rows;
        std::vector<double> bytes;
        const std::size_t count = std::min(known.size(), rows_kept);
        const auto keep = [&](const auto& one) { rows.push_back(table.row(*one.first)), bytes.push_back(one.second); };
        for (std::size_t i = 0; i < count; ++i) keep(known[i * known.size() / count]);
        if (known.size() > count) keep(*largest);
        if (!rows.empty()) knowledge.learn(table, std::move(rows), std::move(bytes));
    }

    /// Bytes of one kind, and whether they are known at all.
    struct Answer {
        std::int64_t bytes = 0;
        std::string why;  ///< empty: nothing is known
    };
    Answer bytes_of(const Params& params, std::int64_t Footprint::*kind, const Knowledge& knowledge,
                    const std::optional<std::int64_t>& given, std::int64_t largest) const {
        if (given && largest <= *given) return {*given, "as declared (resources.trial)"};
        if (const auto same = peaks.find(params); same != peaks.end() && same->second.*kind > 0)
            return {whole_bytes(with_error(double(same->second.*kind))), "measured"};
        if (knowledge.count() == 0) return {};
        const std::string from = counted(static_cast<std::int64_t>(knowledge.count()), "measured configuration");
        return {whole_bytes(knowledge.bound(table, table.row(params))),
                (knowledge.fitted() ? "a law fitted to " : "in proportion to ") + from};
    }
};

FootprintModel::FootprintModel(DeclaredFootprint declared, bool on_device) : impl_(std::make_unique<Impl>()) {
    impl_->declared = declared;
    impl_->on_device = on_device;
}
FootprintModel::FootprintModel(FootprintModel&&) noexcept = default;
FootprintModel& FootprintModel::operator=(FootprintModel&&) noexcept = default;
FootprintModel::~FootprintModel() = default;

void FootprintModel::measured(const Params& params, const Footprint& peak) {
    if (peak.host_bytes <= 0 && peak.device_bytes <= 0) return;
    Impl& impl = *impl_;
    const auto [known, fresh] = impl.peaks.emplace(params, Footprint{0, 0, 0});
    const bool surprise = !impl.due && [&] {
        const Footprint expected = predict(params).footprint;
        return peak.host_bytes > expected.host_bytes || peak.device_bytes > expected.device_bytes;
    }();
    known->second.host_bytes = std::max(known->second.host_bytes, peak.host_bytes);
    known->second.device_bytes = std::max(known->second.device_bytes, peak.device_bytes);
    impl.largest_host = std::max(impl.largest_host, peak.host_bytes);
    impl.largest_device = std::max(impl.largest_device, peak.device_bytes);
    const bool form = fresh && impl.table.add(params);
    // Each new configuration while there are few, then with every eighth more.
    if (surprise || form || impl.peaks.size() >= impl.fitted_at + std::max<std::size_t>(1, impl.fitted_at / 8))
        impl.due = true;
}

Prediction FootprintModel::predict(const Params& params) const {
    Impl& impl = *impl_;
    impl.learn();
    const auto host =
        impl.bytes_of(params, &Footprint::host_bytes, impl.host, impl.declared.host_bytes, impl.largest_host);
    const auto device =
        impl.bytes_of(params, &Footprint::device_bytes, impl.device, impl.declared.device_bytes, impl.largest_device);
    const std::string& why = impl.on_device ? device.why : host.why;
    return {{device.bytes, host.bytes, impl.declared.all_cores()},
            why.empty(),
            why.empty() ? "nothing is known yet: the first trial runs alone" : why};
}

}  // namespace hpo
