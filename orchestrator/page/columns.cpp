#include "orchestrator/page/columns.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "hpo/standing.hpp"
#include "hpo/training_seconds.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/telemetry/quantity.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/trial_field.hpp"

namespace hpo::page {

namespace {

/// Columns of numbers and texts with a row a trial.
class Table {
   public:
    explicit Table(const StudyRecord& record) : record_(record) {}

    Json numbers(const std::function<std::optional<double>(const TrialRecord&)>& of) const {
        std::vector<double> column;
        for (const TrialRecord& trial : record_.trials) column.push_back(of(trial).value_or(absent));
        return packed(column);
    }
    Json counts(const std::function<std::int64_t(const TrialRecord&)>& of) const {
        std::vector<std::uint32_t> column;
        for (const TrialRecord& trial : record_.trials) column.push_back(static_cast<std::uint32_t>(of(trial)));
        return packed(column);
    }
    Json texts(const std::function<std::string(const TrialRecord&)>& of) const {
        TextColumn column;
        for (const TrialRecord& trial : record_.trials) column.add(of(trial));
        return column.json();
    }

   private:
    const StudyRecord& record_;
};

std::optional<double> positive(double number) { return number > 0 ? std::optional(number) : std::nullopt; }

template <class Map>
std::optional<double> in(const Map& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? std::nullopt : std::optional(found->second);
}

Json parameter(const Table& table, const Dimension& dimension) {
    const auto value_of = [&](const TrialRecord& trial) -> const Value* {
        const auto found = trial.params.find(dimension.name);
        return found == trial.params.end() ? nullptr : &found->second;
    };
    if (dimension.kind == Kind::categorical)
        return table.texts([&](const TrialRecord& trial) {
            const Value* value = value_of(trial);
            return value == nullptr ? std::string() : to_text(*value);
        });
    return table.numbers([&](const TrialRecord& trial) -> std::optional<double> {
        const Value* value = value_of(trial);
        return value == nullptr ? std::nullopt : std::optional(number_or(*value, absent));
    });
}

/// A study may report any number of metrics; this many are shown.
constexpr std::size_t most_metrics = 40;

Json metric_columns(const Table& table, const StudyRecord& record) {
    std::set<std::string> names, closing;
    for (const TrialRecord& trial : record.trials) {
        if (const Report* counts = counting_report(trial))
            for (const auto& [name, value] : counts->metrics) names.insert(name);
        for (const auto& [name, value] : trial.closing) closing.insert(name);
    }
    Json columns = Json::object();
    for (const std::string& name : names) {
        if (columns.size() >= most_metrics) break;
        columns[name] = table.numbers([&](const TrialRecord& trial) {
            const Report* counts = counting_report(trial);
            return counts == nullptr ? std::nullopt : in(counts->metrics, name);
        });
    }
    for (const std::string& name : closing) {
        if (columns.size() >= most_metrics) break;
        if (!columns.contains(name))
            columns[name] = table.numbers([&](const TrialRecord& trial) { return in(trial.closing, name); });
    }
    return columns;
}

constexpr std::size_t longest_reason = 300;  ///< bytes; `hpo show` has the rest

}  // namespace

Json trial_columns(const Study& study, const StudyRecord& record) {
    const Table table(record);
    const auto last = [](const TrialRecord& trial) { return trial.curve.empty() ? nullptr : &trial.curve.back(); };
    Json params = Json::object();
    for (const Dimension& dimension : study.space) params[dimension.name] = parameter(table, dimension);
    return {
        {"count", record.trials.size()},
        {"state", table.texts([](const TrialRecord& trial) { return std::string(to_text(trial.state)); })},
        {"value", table.numbers([](const TrialRecord& trial) { return own_value(trial); })},
        // A trial that breaks constraints, diverged or failed has a value and cannot be the best.
        {"counts", table.counts([&](const TrialRecord& trial) { return may_be_best(trial, study.objective) ? 1 : 0; })},
        {"best_step", table.counts([](const TrialRecord& trial) { return trial.best_step; })},
        {"steps", table.counts([](const TrialRecord& trial) { return trial.steps(); })},
        {"attempts", table.counts([](const TrialRecord& trial) { return trial.attempt; })},
        {"repeat_of", table.counts([](const TrialRecord& trial) { return trial.repeat_of; })},
        {"started", table.numbers([](const TrialRecord& trial) { return positive(trial.started_at); })},
        {"ended", table.numbers([](const TrialRecord& trial) { return positive(trial.ended_at); })},
        {"seconds", table.numbers([](const TrialRecord& trial) { return training_seconds(trial); })},
        {"reserved_host", table.numbers([](const TrialRecord& trial) {
             return positive(static_cast<double>(trial.allocation->footprint.host_bytes));
         })},
        {"reserved_device", table.numbers([](const TrialRecord& trial) {
             return positive(static_cast<double>(trial.allocation->footprint.device_bytes));
         })},
        {"peak_host",
         table.numbers([](const TrialRecord& trial) { return positive(static_cast<double>(trial.peak.host_bytes)); })},
        {"peak_device", table.numbers([](const TrialRecord& trial) {
             return positive(static_cast<double>(trial.peak.device_bytes));
         })},
        {"samples_per_second", table.numbers([&](const TrialRecord& trial) {
             return last(trial) ? last(trial)->samples_per_second_overall : std::nullopt;
         })},
        {"iterations_per_second", table.numbers([&](const TrialRecord& trial) {
             return last(trial) ? last(trial)->iterations_per_second_overall : std::nullopt;
         })},
        {"communication", table.numbers([](const TrialRecord& trial) { return view::communication_of(trial); })},
        {"rule", table.texts([](const TrialRecord& trial) { return trial.rule; })},
        {"reason", table.texts([](const TrialRecord& trial) {
             if (trial.state == TrialState::running) return std::string();
             return trial.reason.substr(0, std::min(trial.reason.find('\n'), longest_reason));
         })},
        {"params", std::move(params)},
        {"metrics", metric_columns(table, record)}};
}

Json space_columns(const Study& study) {
    Json space = Json::array();
    for (const Dimension& dimension : study.space) {
        Json json{{"name", dimension.name}};
        if (dimension.kind == Kind::categorical) {
            json["kind"] = "categorical";
            json["choices"] = Json::array();
            for (const Value& choice : dimension.choices) json["choices"].push_back(to_text(choice));
        } else {
            json["kind"] = dimension.kind == Kind::integer ? "int" : "float";
            json["low"] = dimension.low;
            json["high"] = dimension.high;
            json["log"] = dimension.log;
        }
        space.push_back(std::move(json));
    }
    return space;
}

namespace {

/// Returns the first, the last, and the least and the largest of `parts` equal parts, and the first NaN of each.
std::vector<std::size_t> extremes_of_parts(std::span<const double> values, std::size_t parts) {
    std::set<std::size_t> chosen{0, values.size() - 1};
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t from = part * values.size() / parts, to = (part + 1) * values.size() / parts;
        std::size_t least = from, largest = from, gap = to;
        for (std::size_t i = from; i < to; ++i) {
            if (std::isnan(values[i])) gap = std::min(gap, i);
            if (values[i] < values[least] || std::isnan(values[least])) least = i;
            if (values[i] > values[largest] || std::isnan(values[largest])) largest = i;
        }
        chosen.insert({least, largest});
        if (gap < to) chosen.insert(gap);
    }
    return {chosen.begin(), chosen.end()};
}

/// A line between two points, and the point between them that lies farthest from it.
struct Span {
    std::size_t from = 0, to = 0, farthest = 0;
    double distance = -1;
    bool operator<(const Span& other) const { return distance < other.distance; }
};

Span span_of(std::span<const double> values, const std::vector<std::size_t>& points, std::size_t from, std::size_t to) {
    Span span{from, to};
    const auto at = [&](std::size_t i) { return static_cast<double>(points[i]); };
    double first = values[points[from]], last = values[points[to]];
    if (std::isnan(first)) first = last;
    if (std::isnan(last)) last = first;
    const bool gap = std::isnan(first);  // at both ends
    for (std::size_t i = from + 1; i < to; ++i) {
        const double value = values[points[i]];
        const double line = first + (last - first) * (at(i) - at(from)) / (at(to) - at(from));
        double distance = std::abs(value - line);
        if (std::isnan(distance)) distance = std::isnan(value) == gap ? 0 : std::numeric_limits<double>::infinity();
        if (distance > span.distance) span.farthest = i, span.distance = distance;
    }
    return span;
}

}  // namespace

std::vector<std::int64_t> shown_curves(const Study& study, const StudyRecord& record, std::size_t most) {
    std::vector<std::int64_t> with_curve;
    for (const TrialRecord& trial : record.trials)
        if (!trial.curve.empty()) with_curve.push_back(trial.number);
    if (with_curve.size() <= most) return with_curve;
    std::set<std::int64_t> shown;
    for (const TrialRecord* trial : ranking(record, study.objective)) {
        if (shown.size() == most / 10) break;
        shown.insert(trial->number);
    }
    const std::size_t others = most - shown.size();
    for (std::size_t i = 0; i < others; ++i) shown.insert(with_curve[i * with_curve.size() / others]);
    return {shown.begin(), shown.end()};
}

std::vector<std::size_t> thinned(std::span<const double> values, std::size_t most) {
    std::vector<std::size_t> points(values.size());
    std::iota(points.begin(), points.end(), std::size_t{0});
    if (values.size() <= std::max<std::size_t>(most, 2)) return points;
    if (values.size() > 8 * most) points = extremes_of_parts(values, 4 * most);
    std::priority_queue<Span> spans;
    spans.push(span_of(values, points, 0, points.size() - 1));
    std::vector<std::size_t> kept{0, points.size() - 1};
    while (kept.size() < most && spans.top().distance > 0) {
        const Span span = spans.top();
        spans.pop();
        kept.push_back(span.farthest);
        spans.push(span_of(values, points, span.from, span.farthest));
        spans.push(span_of(values, points, span.farthest, span.to));
    }
    std::sort(kept.begin(), kept.end());
    for (std::size_t& index : kept) index = points[index];
    return kept;
}

CurveColumns::CurveColumns(std::string metric, std::size_t curves)
    : metric_(std::move(metric)),
      points_(std::clamp<std::size_t>(most_points / std::max<std::size_t>(curves, 1), 8, 512)) {}

CurvePoints CurveColumns::points_of(const TrialRecord& trial) const {
    std::vector<double> values;
    std::vector<std::int64_t> steps;
    for (const Report& report : trial.curve)
        if (const auto value = in(report.metrics, metric_)) {
            steps.push_back(report.step);
            values.push_back(std::isfinite(*value) ? *value : absent);
        }
    CurvePoints points;
    for (const std::size_t i : thinned(values, points_)) {
        points.steps.push_back(static_cast<std::uint32_t>(steps[i]));
        points.values.push_back(static_cast<float>(values[i]));
    }
    return points;
}

void CurveColumns::add(std::int64_t trial, const CurvePoints& points) {
    steps_.insert(steps_.end(), points.steps.begin(), points.steps.end());
    values_.insert(values_.end(), points.values.begin(), points.values.end());
    trials_.push_back(static_cast<std::uint32_t>(trial));
    ends_.push_back(static_cast<std::uint32_t>(steps_.size()));
}

Json CurveColumns::json() const {
    return {{"trial", packed(trials_)}, {"end", packed(ends_)}, {"step", packed(steps_)}, {"value", packed(values_)}};
}

void AttemptColumns::close(std::int64_t trial, std::string_view how, double time) {
    const auto found = running_.find(trial);
    if (found == running_.end()) return;
    attempts_[found->second].until = time;
    attempts_[found->second].end = how;
    running_.erase(found);
}

void AttemptColumns::add(const StoredEvent& stored) {
    std::visit(
        Overloaded{
            [&](const event::SessionStarted&) {
                // A session that was killed left them running.
                while (!running_.empty()) close(running_.begin()->first, "interrupted", last_);
            },
            [&](const event::Launched& e) {
                const Footprint& reserved = e.allocation.footprint;
                close(e.trial, "lost", stored.time);
                running_[e.trial] = attempts_.size();
                attempts_.push_back({.trial = e.trial,
                                     .where = e.where,
                                     .begin = stored.time,
                                     .reserved = static_cast<double>(reserved.device_bytes > 0 ? reserved.device_bytes
                                                                                               : reserved.host_bytes)});
            },
            [&](const event::Paused& e) { close(e.trial, "paused", stored.time); },
            [&](const event::Requeued& e) { close(e.trial, to_text(e.outcome), stored.time); },
            [&](const event::Finished& e) { close(e.trial, to_text(e.state), stored.time); },
            [](const auto&) {},
        },
        stored.event);
    last_ = stored.time;
}

std::vector<Attempt> AttemptColumns::attempts() const {
    std::vector<Attempt> attempts = attempts_;
    for (const auto& [trial, index] : running_) attempts[index].end = "running", attempts[index].until = last_;
    return attempts;
}

Json AttemptColumns::json() const {
    std::vector<std::uint32_t> trials;
    std::vector<double> begins, untils, reserved;
    TextColumn where, end;
    for (const Attempt& attempt : attempts()) {
        trials.push_back(static_cast<std::uint32_t>(attempt.trial));
        where.add(attempt.where);
        end.add(attempt.end);
        begins.push_back(attempt.begin);
        untils.push_back(attempt.until);
        reserved.push_back(positive(attempt.reserved).value_or(absent));
    }
    return {{"trial", packed(trials)}, {"where", where.json()}, {"begin", packed(begins)},
            {"until", packed(untils)}, {"end", end.json()},     {"reserved", packed(reserved)}};
}

Json load_columns(std::span<const TelemetryRow> rows) {
    constexpr std::size_t most_times = 500;
    struct Channel {
        std::vector<double> times, averages, most;
    };
    std::map<std::pair<std::string, std::string>, std::vector<const TelemetryRow*>> channels;
    for (const TelemetryRow& row : rows)
        if (row.samples > 0) channels[{row.source, row.quantity}].push_back(&row);
    Json all = Json::array();
    for (const auto& [name, found] : channels) {
        const auto quantity = quantity_named(name.second);
        if (!quantity) continue;
        Channel channel;
        const std::size_t parts = std::min(most_times, found.size());
        for (std::size_t part = 0; part < parts; ++part) {
            const std::size_t from = part * found.size() / parts, to = (part + 1) * found.size() / parts;
            double sum = 0, seconds = 0, largest = -INFINITY;
            for (std::size_t i = from; i < to; ++i) {
                sum += found[i]->average * found[i]->seconds;
                seconds += found[i]->seconds;
                largest = std::max(largest, found[i]->most);
            }
            channel.times.push_back(found[to - 1]->time);
            channel.averages.push_back(seconds > 0 ? sum / seconds : found[from]->average);
            channel.most.push_back(largest);
        }
        const QuantityTraits& traits = traits_of(*quantity);
        all.push_back({{"source", name.first},
                       {"quantity", traits.name},
                       {"title", traits.title},
                       {"unit", traits.unit},
                       {"time", packed(channel.times)},
                       {"average", packed(channel.averages)},
                       {"most", packed(channel.most)}});
    }
    return all;
}

}  // namespace hpo::page
