#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hpo/tasks.hpp"
#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

constexpr std::size_t most_objectives = 8;

/// Returns the direction of a metric of the native worker's tasks.
std::optional<Direction> known_direction(string_view metric) {
    for (const TaskInfo& task : tasks)
        for (const TaskMetric& one : task.metrics)
            if (one.name == metric) return one.direction;
    return std::nullopt;
}

/// Returns the tasks that a native worker may have. A table without a task has several, since its target columns decide
/// once they are read.
std::vector<Task> possible_tasks(const Params& worker) {
    const auto value = [&](const char* key) {
        const auto found = worker.find(key);
        return found == worker.end() ? string(find_worker_key(key)->fallback) : to_text(found->second);
    };
    const string task = value("task");
    const string format = value("format");
    if (task == "auto" && (format == "csv" || format == "parquet" || format == "npy"))
        return {Task::classification, Task::regression, Task::multi_label};
    if (task == "auto" && format == "series") return {Task::regression};
    for (const Task one : {Task::regression, Task::multi_label})
        if (task == info_of(one).name) return {one};
    return {Task::classification};
}

/// Returns true if the target is the next token.
bool predicts_tokens(const Params& worker) {
    const auto format = worker.find("format");
    const string name = format == worker.end() ? "" : to_text(format->second);
    return name == "text" || name == "tokens" || worker.count("vocabulary") != 0;
}

/// Returns true if the trials of this worker report a metric.
bool is_reported(WhenReported reported, const Params& worker) {
    if (reported == WhenReported::next_token) return predicts_tokens(worker);
    const auto asked = worker.find("class_metrics");
    return reported == WhenReported::always || (asked != worker.end() && asked->second == Value(true));
}

/// Returns true if one of the tasks reports a metric on request.
bool is_on_request(string_view metric, std::span<const Task> possible) {
    return std::any_of(possible.begin(), possible.end(), [&](Task task) {
        const TaskMetric* found = find_metric(task, metric);
        return found != nullptr && found->reported == WhenReported::on_request;
    });
}

class ObjectiveReader {
   public:
    ObjectiveReader(Diagnostics& diagnostics, const ReadWorker& worker) : diagnostics_(diagnostics), worker_(worker) {}

    Objective read(const Node* objectives, const Node* constraints) {
        read_objectives(objectives);
        read_constraints(constraints);
        return std::move(objective_);
    }

   private:
    /// One objective is a map, several are a list of maps.
    void read_objectives(const Node* node) {
        if (node == nullptr || node->kind != Node::Kind::list) return read_objective(node, objective_), void();
        if (node->items.empty() || node->items.size() > most_objectives)
            return diagnostics_.error(node->location, "'objective' must be a map, or a list of 1 to " +
                                                          std::to_string(most_objectives) + " maps");
        for (const Node& item : node->items) {
            Objective read;
            const bool has_at = read_objective(&item, read);
            if (&item == &node->items.front()) {
                objective_ = read;
                continue;
            }
            if (has_at)
                diagnostics_.error(item.location,
                                   "'at' belongs to the first objective: the values of all are of the step it chooses");
            const auto& others = objective_.further;
            if (read.metric == objective_.metric ||
                std::any_of(others.begin(), others.end(), [&](const Goal& one) { return one.metric == read.metric; }))
                diagnostics_.error(item.location, "'objective' names " + printable(read.metric) + " twice");
            objective_.further.push_back({read.metric, read.direction});
        }
    }

    void read_constraints(const Node* node) {
        if (node == nullptr || node->kind == Node::Kind::null) return;
        if (node->kind != Node::Kind::list)
            return diagnostics_.error(node->location,
                                      "'constraints' must be a list such as [{metric: params, max: 1e6}]");
        for (const Node& item : node->items) {
            if (item.kind != Node::Kind::map) {
                diagnostics_.error(item.location,
                                   "'constraints' must be a list of maps, such as [{metric: params, max: 400}]");
                continue;
            }
            Fields fields(diagnostics_, &item, "constraints");
            if (fields.node() == nullptr) continue;
            const Node* metric = fields.take("metric");
            const Node* min = fields.take("min");
            const Node* max = fields.take("max");
            fields.finish();
            if (metric == nullptr) {
                fields.missing("metric", "a metric that trials report");
                continue;
            }
            const auto name = metric_name(*metric, "constraints.metric");
            if (!name) continue;
            Constraint constraint{*name, {}, {}};
            constexpr double most = std::numeric_limits<double>::max();
            if (min != nullptr) constraint.min = real(diagnostics_, *min, "constraints.min", -most, most);
            if (max != nullptr) constraint.max = real(diagnostics_, *max, "constraints.max", -most, most);
            if (min == nullptr && max == nullptr)
                diagnostics_.error(item.location, "the constraint on " + *name + " needs 'max' or 'min', or both");
            else if (constraint.min && constraint.max && *constraint.min > *constraint.max)
                diagnostics_.error(item.location, "the constraint on " + *name + " has 'min' above 'max'");
            const auto& others = objective_.constraints;
            if (std::any_of(others.begin(), others.end(), [&](const Constraint& one) { return one.metric == *name; }))
                diagnostics_.error(item.location,
                                   "'constraints' names " + *name + " twice: one may have both 'min' and 'max'");
            objective_.constraints.push_back(std::move(constraint));
        }
    }

    /// The name of a metric that trials of this worker may report.
    std::optional<string> metric_name(const Node& node, const string& path) {
        if (worker_.native()) {
            const auto metrics = native_metrics();
            const bool missing = std::find(metrics.begin(), metrics.end(), node.text) == metrics.end();
            if (missing && is_on_request(node.text, possible_tasks(worker_.params))) {
                diagnostics_.error(node.location, "'" + path + "': a trial reports " + node.text +
                                                      " with worker.training.class_metrics: true");
                return std::nullopt;
            }
            const auto index = word(diagnostics_, node, path, metrics);
            return index ? std::optional(string(metrics[*index])) : std::nullopt;
        }
        const auto name = text(diagnostics_, node, path);
        if (!name || script::is_metric_name(*name)) return name;
        const string joined = script::name_of(*name);  // a printed name with blanks, which are '_' in names
        const string cure = script::is_metric_name(joined) ? "; write it " + joined : "";
        diagnostics_.error(node.location,
                           "'" + path +
                               "' must be 1 to 64 letters, digits or ._-/@%^+&():#, a letter or '_' first, found " +
                               printable(*name) + cure);
        return std::nullopt;
    }

    [[nodiscard]] std::vector<string_view> native_metrics() const {
        std::vector<string_view> metrics;
        for (const Task task : possible_tasks(worker_.params))
            for (const TaskMetric& one : info_of(task).metrics)
                if (is_reported(one.reported, worker_.params) &&
                    std::find(metrics.begin(), metrics.end(), one.name) == metrics.end())
                    metrics.insert(metrics.begin(), one.name);
        return metrics;
    }

    /// Returns whether the map says at which step trials are judged.
    bool read_objective(const Node* node, Objective& objective) {
        Fields fields(diagnostics_, node, "objective");
        const Node* metric = fields.take("metric");
        const Node* direction = fields.take("direction");
        const Node* at = fields.take("at");
        fields.finish();
        if (at != nullptr)
            if (const auto index = word(diagnostics_, *at, "objective.at", {"best", "last"}))
                objective.at = static_cast<Objective::At>(*index);
        std::optional<Direction> given;
        if (direction != nullptr)
            if (const auto index = word(diagnostics_, *direction, "objective.direction", {"minimize", "maximize"}))
                given = static_cast<Direction>(*index);
        if (std::holds_alternative<NoWorker>(worker_.worker))
            return read_external_objective(node, metric, given, objective), at != nullptr;
        if (!worker_.native()) {
            if (metric == nullptr || direction == nullptr) {
                const Location location = node == nullptr ? Location{} : node->location;
                diagnostics_.error(location,
                                   "a script's objective needs 'metric' (a name that it reports) and 'direction' "
                                   "(minimize or maximize)");
                return at != nullptr;
            }
            if (auto name = metric_name(*metric, "objective.metric")) objective.metric = *std::move(name);
            objective.direction = given.value_or(objective.direction);
            return at != nullptr;
        }
        const std::vector<Task> possible = possible_tasks(worker_.params);
        objective.metric =
            possible.size() == 1 && !predicts_tokens(worker_.params) ? info_of(possible.front()).objective : "val_loss";
        if (metric != nullptr) {
            const auto name = metric_name(*metric, "objective.metric");
            if (!name) return at != nullptr;
            objective.metric = *name;
        }
        objective.direction = known_direction(objective.metric).value_or(Direction::minimize);
        if (given && *given != objective.direction)
            diagnostics_.error(
                direction->location,
                "'" + objective.metric + "' is better when it is " +
                    (*given == Direction::minimize ? "larger: direction: maximize" : "smaller: direction: minimize"));
        return at != nullptr;
    }

    /// Reads the objective of a study without a worker_. The direction may be absent for the native worker's metrics.
    void read_external_objective(const Node* node, const Node* metric, std::optional<Direction> given,
                                 Objective& objective) {
        const auto name = metric == nullptr ? objective.metric : metric_name(*metric, "objective.metric");
        if (!name) return;
        objective.metric = *name;
        const auto known = known_direction(*name);
        if (!given && !known)
            diagnostics_.error(node->location, "'objective.direction' is missing: minimize or maximize " + *name);
        objective.direction = given.value_or(known.value_or(Direction::minimize));
    }

    Diagnostics& diagnostics_;
    const ReadWorker& worker_;
    Objective objective_;
};

}  // namespace

Objective read_objective(Diagnostics& diagnostics, const Node* objectives, const Node* constraints,
                         const ReadWorker& worker) {
    return ObjectiveReader(diagnostics, worker).read(objectives, constraints);
}

}  // namespace hpo::study
