#include "orchestrator/sampling/plateaus.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace hpo {

namespace {
constexpr std::size_t most_considered = 60;
constexpr double rounding = 1e-9;
}  // namespace

bool Plateaus::Span::contains(std::span<const double> input) const {
    for (std::size_t d = 0; d < low.size(); ++d)
        if (input[d] < low[d] - rounding || input[d] > high[d] + rounding) return false;
    return true;
}

Plateaus::Span Plateaus::Span::with(std::span<const double> input) const {
    Span wider = *this;
    for (std::size_t d = 0; d < low.size(); ++d) {
        wider.low[d] = std::min(low[d], input[d]);
        wider.high[d] = std::max(high[d], input[d]);
    }
    return wider;
}

Plateaus::Plateaus(const Inputs& inputs, std::span<const double> targets) {
    std::vector<std::vector<double>> rows(inputs.count, std::vector<double>(inputs.dimensions()));
    std::map<double, std::size_t> number;  // of inputs with a target
    for (std::size_t i = 0; i < inputs.count; ++i) {
        for (std::size_t d = 0; d < inputs.dimensions(); ++d) rows[i][d] = inputs.at(i, d);
        ++number[targets[i]];
    }
    std::vector<std::size_t> tied;
    for (std::size_t i = inputs.count; i-- > 0 && tied.size() < most_considered;)
        if (number[targets[i]] > 1) tied.push_back(i);
    const auto alike = [&](std::size_t i, std::size_t j) {
        if (targets[i] != targets[j]) return false;
        for (std::size_t d = 0; d < inputs.dimensions(); ++d)
            if (inputs.categorical[d] && rows[i][d] != rows[j][d]) return false;
        return true;
    };
    for (const std::size_t a : tied) {
        const Span alone{rows[a], rows[a]};
        const auto contradicted = [&](const Span& span) {
            for (std::size_t c = 0; c < inputs.count; ++c)
                if (targets[c] != targets[a] && span.contains(rows[c])) return true;
            return false;
        };
        Span plateau = alone;
        bool grown = false;
        for (const std::size_t b : tied) {
            if (b == a || !alike(a, b)) continue;
            if (b < a) {
                const Span between = alone.with(rows[b]);
                for (std::size_t c = 0; c < inputs.count; ++c)
                    if (c != a && c != b && between.contains(rows[c])) {
                        enclosed_ += 1;
                        equal_ += targets[c] == targets[a] ? 1 : 0;
                    }
            }
            if (Span wider = plateau.with(rows[b]); !contradicted(wider)) {
                plateau = std::move(wider);
                grown = true;
            }
        }
        if (grown) plateaus_.push_back(std::move(plateau));
    }
}

double Plateaus::log_new(std::span<const double> input) const {
    const bool inside =
        std::any_of(plateaus_.begin(), plateaus_.end(), [&](auto& span) { return span.contains(input); });
    return inside ? std::log1p(-(equal_ + 1) / (enclosed_ + 2)) : 0;
}

std::vector<double> Unrepeated::values(const std::vector<std::vector<double>>& inputs) const {
    std::vector<double> all = inner_.values(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) all[i] += plateaus_.log_new(inputs[i]);
    return all;
}

double Unrepeated::value(std::span<const double> input, std::span<double> gradient) const {
    return inner_.value(input, gradient) + plateaus_.log_new(input);
}

}  // namespace hpo
