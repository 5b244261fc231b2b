// Reads expressions of parameters: ends of ranges that depend on other parameters, and `where`.
#include <algorithm>
#include <cmath>

#include "hpo/text.hpp"
#include "orchestrator/expression/expression.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

using expression::Expression;
using expression::Meaning;
using expression::Mistake;
using std::string;

constexpr std::size_t most_conditions = 64;

/// Returns the location of a part of a text, or of the whole where the file writes it otherwise (escaped or folded).
Location location_of(const Diagnostics& diagnostics, const Node& node, const Mistake& mistake) {
    Location inside = node.location;
    inside.column += node.plain ? 0 : 1;
    if (!diagnostics.shows(inside, node.text)) return node.location;
    inside.column += static_cast<int>(mistake.offset);
    inside.length = static_cast<int>(mistake.length);
    return inside;
}

std::optional<Expression> read_expression(Diagnostics& diagnostics, const Node& node, const string& path,
                                          Meaning meaning, const std::vector<expression::Variable>& variables) {
    auto read = Expression::read(node.text, meaning, variables);
    if (auto* made = std::get_if<Expression>(&read)) return std::move(*made);
    const auto& mistake = std::get<Mistake>(read);
    diagnostics.error(location_of(diagnostics, node, mistake), "'" + path + "': " + printable(mistake.message, 300));
    return std::nullopt;
}

class RangeResolver {
   public:
    RangeResolver(Diagnostics& diagnostics, ReadSpace& space, const std::vector<DependentEnd>& ends, bool native,
                  const Params& fixed)
        : diagnostics_(diagnostics),
          space_(space),
          ends_(ends),
          native_(native),
          variables_(expression::variables_of(space.space, fixed)) {}

    void resolve() {
        needs_.resize(space_.space.size());
        for (std::size_t i = 0; i < needs_.size(); ++i)
            for (const Condition& condition : space_.space[i].when) need(i, condition.parameter);
        for (const DependentEnd& end : ends_) {
            if (refers_to_broken(*end.node)) return;
            read_.push_back(read_expression(diagnostics_, *end.node, path_of(end), Meaning::number, variables_));
            if (!read_.back()) continue;
            for (const std::size_t used : read_.back()->uses())
                if (used < needs_.size()) needs_[end.dimension].push_back(used);
        }
        state_.resize(needs_.size(), Visit::none);
        for (std::size_t i = 0; i < needs_.size(); ++i)
            if (!visit(i)) return;
    }

   private:
    enum class Visit { none, open, done };

    [[nodiscard]] string path_of(const DependentEnd& end) const {
        return "space." + space_.space[end.dimension].name + (end.upper ? ".high" : ".low");
    }

    void need(std::size_t dimension, const string& name) {
        for (std::size_t i = 0; i < space_.space.size(); ++i)
            if (space_.space[i].name == name) needs_[dimension].push_back(i);
    }

    /// Returns true if an expression may name a parameter that was left out because of an error.
    [[nodiscard]] bool refers_to_broken(const Node& node) const {
        return std::any_of(space_.broken.begin(), space_.broken.end(),
                           [&](const string& name) { return node.text.find(name) != string::npos; });
    }

    /// Visits the parameters on which a dimension depends before the dimension itself. Returns false after a cycle was
    /// reported. A parameter that depends on itself could have no value, or never become active.
    bool visit(std::size_t i) {
        if (state_[i] == Visit::done) return true;
        if (state_[i] == Visit::open) {
            string text;
            for (auto at = std::find(path_.begin(), path_.end(), i); at != path_.end(); ++at)
                text += space_.space[*at].name + " -> ";
            diagnostics_.error(space_.locations[i],
                               (ends_.empty() ? "'when' is circular: " : "these parameters depend on each other: ") +
                                   text + space_.space[i].name);
            return false;
        }
        state_[i] = Visit::open;
        path_.push_back(i);
        for (const std::size_t other : needs_[i])
            if (!visit(other)) return false;
        path_.pop_back();
        state_[i] = Visit::done;
        for (std::size_t e = 0; e < ends_.size(); ++e)
            if (ends_[e].dimension == i && (!read_[e] || !bound(ends_[e], *read_[e]))) return true;
        if (space_.space[i].dependent()) check(i);
        return true;
    }

    /// Sets an end to the value that leaves the widest range.
    bool bound(const DependentEnd& end, const Expression& made) {
        Dimension& dimension = space_.space[end.dimension];
        const auto bounds = made.bounds(variables_);
        const auto refuse = [&](const string& message) {
            diagnostics_.error(end.node->location, "'" + path_of(end) + "' " + message);
            return false;
        };
        if (!bounds || !std::isfinite(bounds->low) || !std::isfinite(bounds->high))
            return refuse("has no bounds: it may divide by 0, or be too large for a number");
        double value = end.upper ? bounds->high : bounds->low;
        if (dimension.kind == Kind::integer) value = end.upper ? std::floor(value + 1e-9) : std::ceil(value - 1e-9);
        if (dimension.kind == Kind::integer && std::abs(value) > max_whole)
            return refuse("may be too large for an int");
        const WorkerKey* key = native_ ? find_worker_key(dimension.name) : nullptr;
        if (key != nullptr && (end.upper ? value > key->high : value < key->low))
            return refuse("may be " + exact_number(value) + ", and the worker takes numbers " +
                          range_text(key->low, key->high) + ": write " + (end.upper ? "min" : "max") + "(" +
                          end.node->text + ", " + exact_number(end.upper ? key->high : key->low) + ")");
        (end.upper ? dimension.high : dimension.low) = value;
        return true;
    }

    /// Checks the widest range, and makes it known to expressions of other parameters.
    void check(std::size_t i) {
        Dimension& dimension = space_.space[i];
        const DependentEnd& end =
            *std::find_if(ends_.begin(), ends_.end(), [&](const DependentEnd& one) { return one.dimension == i; });
        const string path = "'space." + dimension.name;
        if (dimension.low > dimension.high)
            diagnostics_.error(end.node->location, path + "' is always empty: 'low' is at least " +
                                                       exact_number(dimension.low) + ", and 'high' at most " +
                                                       exact_number(dimension.high));
        else if (dimension.log && dimension.low <= 0)
            diagnostics_.error(end.node->location, path + ".low' must be above 0 with log: true, and may be " +
                                                       exact_number(dimension.low));
        else if (!std::isfinite(dimension.high - dimension.low))
            diagnostics_.error(end.node->location, path + "' is wider than a float can hold");
        else if (dimension.step && (dimension.high - dimension.low) / *dimension.step >= 1e9)
            diagnostics_.error(end.node->location, path + ".step' is too fine: more than 1e9 steps; leave it out");
        else if (dimension.step && dimension.low_of.empty())  // the last step is the greatest value
            dimension.high =
                dimension.low + std::floor((dimension.high - dimension.low) / *dimension.step + 1e-9) * *dimension.step;
        variables_[i].low = dimension.low;
        variables_[i].high = dimension.high;
    }

    Diagnostics& diagnostics_;
    ReadSpace& space_;
    const std::vector<DependentEnd>& ends_;
    bool native_;
    std::vector<expression::Variable> variables_;
    std::vector<std::optional<Expression>> read_;  ///< of each end
    std::vector<std::vector<std::size_t>> needs_;  ///< dimensions that each dimension depends on
    std::vector<Visit> state_;
    std::vector<std::size_t> path_;
};

}  // namespace

const Node* expression_of_end(const Node& node) {
    if (node.kind == Node::Kind::map) {
        const Node* name = node.entries.size() == 1 ? find(node, "parameter") : nullptr;
        return name != nullptr && name->kind == Node::Kind::scalar ? name : nullptr;
    }
    if (node.kind != Node::Kind::scalar) return nullptr;
    // A text that begins like a number and has no operator, such as 1e-3, .inf or 10k, is meant as a number.
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    std::string_view text = node.text;
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    const bool begins_with_name = !text.empty() && is_letter(text[0]) && text != "inf" && text != "nan";
    const bool computes = node.text.find_first_of("*/%(") != string::npos || node.text.find(" + ") != string::npos ||
                          node.text.find(" - ") != string::npos;
    return begins_with_name || computes ? &node : nullptr;
}

void resolve_ranges(Diagnostics& diagnostics, ReadSpace& space, const std::vector<DependentEnd>& ends, bool native,
                    const Params& fixed) {
    RangeResolver(diagnostics, space, ends, native, fixed).resolve();
}

std::vector<string> read_where(Diagnostics& diagnostics, const Node* node, const ReadSpace& space,
                               const Params& fixed) {
    std::vector<string> conditions;
    if (node == nullptr || node->kind == Node::Kind::null) return conditions;
    const auto variables = expression::variables_of(space.space, fixed);
    const auto add = [&](const Node& item) {
        if (item.kind != Node::Kind::scalar)
            return diagnostics.error(
                item.location, "'where' must be a condition such as \"layers * width <= 4096\", or a list of them");
        for (const string& name : space.broken)
            if (item.text.find(name) != string::npos) return;  // reported already
        if (read_expression(diagnostics, item, "where", Meaning::condition, variables)) conditions.push_back(item.text);
    };
    if (node->kind != Node::Kind::list) return add(*node), conditions;
    if (node->items.size() > most_conditions)
        diagnostics.error(node->location, "'where' has more than " + std::to_string(most_conditions) + " conditions");
    else
        for (const Node& item : node->items) add(item);
    return conditions;
}

}  // namespace hpo::study
