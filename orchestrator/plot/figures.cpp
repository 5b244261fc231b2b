#include "orchestrator/plot/figures.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "orchestrator/stopping/metric.hpp"

namespace hpo::plot {

namespace {

std::vector<Goal> goals_of(const Objective& objective) {
    std::vector<Goal> goals{{objective.metric, objective.direction}};
    goals.insert(goals.end(), objective.further.begin(), objective.further.end());
    return goals;
}

/// Returns the finite value of a trial's own seed at the step that counts.
std::optional<double> value_of(const TrialRecord& trial, const Study& study, const Goal& goal) {
    const auto value =
        goal.metric == study.objective.metric ? own_value(trial) : metric_that_counts(trial, goal.metric);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

bool lost(const TrialRecord& trial) { return trial.state == TrialState::failed || trial.state == TrialState::diverged; }

/// Collects marks of the trials by how they ended.
class TrialMarks {
   public:
    void add(const TrialRecord& trial, Point point) {
        (lost(trial) ? crosses_ : trial.state == TrialState::complete ? dots_ : rings_).points.push_back(point);
    }
    void add_to(Panel& panel) const {
        for (const Marks* marks : {&rings_, &dots_, &crosses_})
            if (!marks->points.empty()) panel.marks.push_back(*marks);
    }

   private:
    Marks dots_{Shape::dot, Tone::plain, {}}, rings_{Shape::ring, Tone::plain, {}},
        crosses_{Shape::cross, Tone::bad, {}};
};

/// Returns the keys of those marks that are in a panel.
std::vector<Key> keys_of_trials(const std::vector<Panel>& panels) {
    const auto has = [&](Shape shape) {
        for (const Panel& panel : panels)
            for (const Marks& marks : panel.marks)
                if (marks.shape == shape && !marks.points.empty()) return true;
        return false;
    };
    std::vector<Key> keys;
    if (has(Shape::dot)) keys.push_back({Shape::dot, Tone::plain, "complete"});
    if (has(Shape::ring)) keys.push_back({Shape::ring, Tone::plain, "stopped or unfinished"});
    if (has(Shape::cross)) keys.push_back({Shape::cross, Tone::bad, "failed or diverged"});
    return keys;
}

/// Returns the useful range of a goal's values. Adds a note about values outside.
std::pair<double, double> range_of(const Study& study, const StudyRecord& record, const Goal& goal,
                                   std::vector<std::string>& notes) {
    std::vector<double> values;
    for (const TrialRecord& trial : record.trials)
        if (const auto value = value_of(trial, study, goal)) values.push_back(*value);
    std::sort(values.begin(), values.end(), [&](double a, double b) { return better(goal.direction, a, b); });
    const auto range = useful_range(values);
    const auto outside = std::count_if(values.begin(), values.end(),
                                       [&](double value) { return value < range.first || value > range.second; });
    if (outside > 0)
        notes.push_back(counted(outside, "trial") + " with worse " + printable_line(goal.metric) +
                        (outside == 1 ? " lies" : " lie") + " outside");
    return range;
}

std::string without_values(const Study& study, const StudyRecord& record) {
    return record.trials.empty()
               ? "study " + study.name + " has no trial yet"
               : "no trial of " + study.name + " has a value of " + printable_line(study.objective.metric) + " yet";
}

bool any_value(const StudyRecord& record, const Study& study) {
    const Goal first = goals_of(study.objective).front();
    return std::any_of(record.trials.begin(), record.trials.end(),
                       [&](const TrialRecord& trial) { return value_of(trial, study, first).has_value(); });
}

Scale scale_of(const Dimension& dimension) {
    const std::string name = printable_line(dimension.name);
    if (dimension.kind != Kind::categorical)
        return scale(name, dimension.low, dimension.high,
                     dimension.kind == Kind::integer ? Scale::Unit::whole : Scale::Unit::number, dimension.log);
    Scale choices = scale(name, -0.5, static_cast<double>(dimension.choices.size()) - 0.5, Scale::Unit::choice);
    for (const Value& choice : dimension.choices) choices.names.push_back(printable_line(to_text(choice)));
    return choices;
}

/// Returns where a trial lies on scale_of(dimension). Absent if the parameter was inactive.
std::optional<double> place_of(const TrialRecord& trial, const Dimension& dimension) {
    const auto found = trial.params.find(dimension.name);
    if (found == trial.params.end()) return std::nullopt;
    if (dimension.kind == Kind::categorical) {
        const auto choice = std::find(dimension.choices.begin(), dimension.choices.end(), found->second);
        if (choice == dimension.choices.end()) return std::nullopt;
        return static_cast<double>(choice - dimension.choices.begin());
    }
    if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*whole);
    if (const auto* number = std::get_if<double>(&found->second)) return *number;
    return std::nullopt;
}

/// Returns where a curve reached the value that counts, or else its last point. Absent if that is not finite.
std::optional<Point> counted_point(const page::CurvePoints& curve, std::int64_t step) {
    if (curve.steps.empty()) return std::nullopt;
    const auto found = std::find(curve.steps.begin(), curve.steps.end(), step);
    const auto at = static_cast<std::size_t>(std::min(found, curve.steps.end() - 1) - curve.steps.begin());
    const Point point{static_cast<double>(curve.steps[at]), static_cast<double>(curve.values[at])};
    return std::isfinite(point.y) ? std::optional(point) : std::nullopt;
}

/// Returns the best trial of a study with one objective; none is with several.
const TrialRecord* single_best(const Study& study, const StudyRecord& record) {
    return study.objective.further.empty() ? best_trial(record, study.objective) : nullptr;
}

}  // namespace

Figure history(const Study& study, const StudyRecord& record) {
    Figure figure;
    if (!any_value(record, study)) return figure.nothing = without_values(study, record), figure;
    for (const Goal& goal : goals_of(study.objective)) {
        const auto [low, high] = range_of(study, record, goal, figure.notes);
        Panel panel{scale("trial", 1, static_cast<double>(record.trials.size()), Scale::Unit::whole),
                    scale(printable_line(goal.metric), low, high),
                    {},
                    {},
                    {}};
        TrialMarks marks;
        Path best{Tone::line, {}};
        std::optional<double> so_far;
        for (const TrialRecord& trial : record.trials) {
            const auto value = value_of(trial, study, goal);
            if (!value) continue;
            const auto x = static_cast<double>(trial.number);
            marks.add(trial, {x, *value});
            if (!may_be_best(trial, study.objective) || (so_far && !better(goal.direction, *value, *so_far))) continue;
            if (so_far) best.points.push_back({x, *so_far});
            so_far = value;
            best.points.push_back({x, *value});
        }
        if (so_far) best.points.push_back({static_cast<double>(record.trials.size()), *so_far});
        marks.add_to(panel);
        if (so_far) panel.paths.push_back(std::move(best));
        figure.panels.push_back(std::move(panel));
    }
    const TrialRecord* best = single_best(study, record);
    figure.title = study.name + ": " + counted(static_cast<std::int64_t>(record.trials.size()), "trial") +
                   (best ? ", best " + printable_line(study.objective.metric) + " " + short_number(*best->value) +
                               " (trial " + std::to_string(best->number) + ")"
                         : "");
    figure.keys = keys_of_trials(figure.panels);
    if (std::any_of(figure.panels.begin(), figure.panels.end(),
                    [](const Panel& panel) { return !panel.paths.empty(); }))
        figure.keys.push_back({Shape::dot, Tone::line, "best so far", true});
    return figure;
}

Figure curves(const Study& study, const StudyRecord& record, const std::map<std::int64_t, page::CurvePoints>& curves) {
    Figure figure;
    const auto shown_of = [](float value) { return static_cast<double>(value); };
    std::vector<double> values;
    double first = INFINITY, last = 1;
    for (const auto& [number, curve] : curves)
        for (std::size_t i = 0; i < curve.values.size(); ++i) {
            if (!std::isfinite(curve.values[i])) continue;
            values.push_back(shown_of(curve.values[i]));
            first = std::min(first, static_cast<double>(curve.steps[i]));
            last = std::max(last, static_cast<double>(curve.steps[i]));
        }
    if (values.empty()) return figure.nothing = without_values(study, record), figure;
    std::sort(values.begin(), values.end(),
              [&](double a, double b) { return better(study.objective.direction, a, b); });
    const auto [low, high] = useful_range(values, 6);
    const TrialRecord* best = single_best(study, record);
    Panel panel{scale(step_name(study), std::min(first, last), last, Scale::Unit::whole),
                scale(printable_line(study.objective.metric), low, high),
                {},
                {},
                {}};
    TrialMarks ends;
    for (const auto& [number, curve] : curves) {
        const bool leads = best && best->number == number;
        Path path{leads ? Tone::best : Tone::faint, {}};
        for (std::size_t i = 0; i < curve.values.size(); ++i)
            path.points.push_back({static_cast<double>(curve.steps[i]), shown_of(curve.values[i])});
        if (!path.points.empty() && !leads && std::isfinite(path.points.back().y))
            ends.add(record.trial(number), path.points.back());
        if (path.points.size() > 1) panel.paths.push_back(std::move(path));
    }
    ends.add_to(panel);
    std::optional<Point> top;
    if (best)
        if (const auto found = curves.find(best->number); found != curves.end())
            top = counted_point(found->second, best->best_step);
    if (top) panel.marks.push_back({Shape::star, Tone::best, {*top}});
    // The best curve goes last, so that it is drawn over the others.
    std::stable_sort(panel.paths.begin(), panel.paths.end(),
                     [](const Path& a, const Path& b) { return a.tone < b.tone; });
    figure.panels.push_back(std::move(panel));
    figure.title = study.name + ": " + printable_line(study.objective.metric) + " of " +
                   counted(static_cast<std::int64_t>(curves.size()), "trial") + " at each " + step_name(study);
    const auto reported = std::count_if(record.trials.begin(), record.trials.end(),
                                        [](const TrialRecord& trial) { return trial.steps() > 0; });
    if (static_cast<std::size_t>(reported) > curves.size())
        figure.notes.push_back("of " + counted(reported, "trial") + ": the best, and others at equal distances");
    figure.keys = keys_of_trials(figure.panels);
    if (top) figure.keys.push_back({Shape::star, Tone::best, "the best, trial " + std::to_string(best->number)});
    return figure;
}

Figure importance(const Study& study, const analysis::Importance& importance) {
    Figure figure;
    if (importance.effects.empty()) return figure.nothing = study.name + ": " + importance.no_effects, figure;
    const analysis::Ends& ends = importance.ends;
    figure.title = study.name + ": shares of the variance of " + printable_line(study.objective.metric);
    figure.title += ends.at_step > 0 ? " at " + step_name(study) + " " + std::to_string(ends.at_step) + ", from " +
                                           counted(ends.reached, "trial")
                                     : ", from " + counted(ends.trained + ends.predicted, "trial");
    figure.across = scale("share of the variance", 0, 1, Scale::Unit::share);
    for (const analysis::Effect& effect : importance.effects) {
        const auto percent = [](double share) {
            const std::string number = std::to_string(std::lround(100 * share));
            return std::string(3 - std::min<std::size_t>(3, number.size()), ' ') + number + " %";
        };
        const bool sure = effect.all.sure() && importance.tells();
        const Tone tone = sure ? Tone::line : Tone::faint;
        figure.rows.push_back({printable_line(effect.name),
                               {{0, effect.all.share, sure ? Shape::dot : Shape::ring, tone}},
                               percent(effect.all.share) + " +- " + percent(effect.all.deviation),
                               effect.all.deviation});
    }
    if (ends.at_step > 0)
        figure.notes.push_back("too few trials were trained to their end to tell what it depends on");
    else if (ends.predicted > 0)
        figure.notes.push_back("the ends of " + counted(ends.predicted, "stopped trial") + " are predicted");
    if (ends.drawn_from > 0)
        figure.notes.push_back("drawn at random from the " + counted(ends.drawn_from, "trial") + " that ended");
    if (!importance.tells()) figure.notes.push_back("unreliable: the parameters predict little of trials held out");
    figure.keys = {{Shape::dot, Tone::line, "sure"}, {Shape::ring, Tone::faint, "may be none"}};
    return figure;
}

Figure slice(const Study& study, const StudyRecord& record) {
    Figure figure;
    if (!any_value(record, study)) return figure.nothing = without_values(study, record), figure;
    const Goal goal = goals_of(study.objective).front();
    const auto [low, high] = range_of(study, record, goal, figure.notes);
    const TrialRecord* best = single_best(study, record);
    for (const Dimension& dimension : study.space) {
        Panel panel{scale_of(dimension), scale(printable_line(goal.metric), low, high), {}, {}, {}};
        TrialMarks marks;
        for (const TrialRecord& trial : record.trials) {
            const auto place = place_of(trial, dimension), value = value_of(trial, study, goal);
            if (place && value && &trial != best) marks.add(trial, {*place, *value});
        }
        marks.add_to(panel);
        if (best)
            if (const auto place = place_of(*best, dimension))
                panel.marks.push_back({Shape::star, Tone::best, {{*place, *value_of(*best, study, goal)}}});
        figure.panels.push_back(std::move(panel));
    }
    figure.title = study.name + ": " + printable_line(goal.metric) + " over each parameter";
    figure.keys = keys_of_trials(figure.panels);
    if (best) figure.keys.push_back({Shape::star, Tone::best, "the best, trial " + std::to_string(best->number)});
    return figure;
}

Figure parallel(const Study& study, const StudyRecord& record, std::size_t most_axes) {
    Figure figure;
    if (!any_value(record, study)) return figure.nothing = without_values(study, record), figure;
    const Goal goal = goals_of(study.objective).front();
    const auto [low, high] = range_of(study, record, goal, figure.notes);
    Panel panel;
    const std::size_t axes = std::min(study.space.size(), std::max<std::size_t>(most_axes, 2));
    for (std::size_t i = 0; i < axes; ++i) panel.uprights.push_back(scale_of(study.space[i]));
    panel.uprights.push_back(scale(printable_line(goal.metric), low, high));
    std::vector<const TrialRecord*> trials;
    for (const TrialRecord& trial : record.trials)
        if (value_of(trial, study, goal)) trials.push_back(&trial);
    std::stable_sort(trials.begin(), trials.end(), [&](const TrialRecord* a, const TrialRecord* b) {
        const bool counts = may_be_best(*b, study.objective);
        if (counts != may_be_best(*a, study.objective)) return counts;
        return better(goal.direction, *value_of(*b, study, goal), *value_of(*a, study, goal));  // the best last
    });
    const auto counting = static_cast<std::size_t>(std::count_if(
        trials.begin(), trials.end(), [&](const TrialRecord* trial) { return may_be_best(*trial, study.objective); }));
    constexpr std::size_t most_best = 20;  // more lines would hide where they go
    const std::size_t best = std::min({counting, std::max<std::size_t>(1, trials.size() / 10), most_best});
    for (std::size_t i = 0; i < trials.size(); ++i) {
        Path path{i + best >= trials.size() ? Tone::best : Tone::faint, {}};
        for (std::size_t axis = 0; axis < axes; ++axis) {
            const auto place = place_of(*trials[i], study.space[axis]);
            path.points.push_back({static_cast<double>(axis), place ? panel.uprights[axis].at(*place) : NAN});
        }
        path.points.push_back({static_cast<double>(axes),
                               std::clamp(panel.uprights.back().at(*value_of(*trials[i], study, goal)), 0.0, 1.0)});
        panel.paths.push_back(std::move(path));
    }
    panel.x = scale("", 0, static_cast<double>(axes), Scale::Unit::whole);
    figure.panels.push_back(std::move(panel));
    figure.title = study.name + ": " + counted(static_cast<std::int64_t>(trials.size()), "trial") +
                   " over the parameters and " + printable_line(goal.metric);
    if (axes < study.space.size())
        figure.notes.push_back("the first " + std::to_string(axes) + " of " + std::to_string(study.space.size()) +
                               " parameters: -o plot.svg has room for all");
    if (best == 0) return figure;  // all failed or break constraints: the paths are of one kind
    figure.keys.push_back({Shape::dot, Tone::best, best == 1 ? "the best" : "the best " + std::to_string(best), true});
    figure.keys.push_back({Shape::dot, Tone::faint, "the others", true});
    return figure;
}

Figure timeline(const Study& study, std::span<const page::Attempt> attempts) {
    constexpr std::size_t most_rows = 64;
    Figure figure;
    if (attempts.empty()) return figure.nothing = "no trial of " + study.name + " has run yet", figure;
    double begin = INFINITY, until = -INFINITY;
    for (const page::Attempt& attempt : attempts)
        begin = std::min(begin, attempt.begin), until = std::max(until, attempt.until);
    figure.across = scale("since the first trial began", 0, std::max(until - begin, 1e-3), Scale::Unit::seconds);
    std::map<std::string, std::vector<std::size_t>> lanes;  // rows of a device: one a trial at once
    std::vector<double> free;                               // by row, from when on
    std::size_t hidden = 0;
    bool shapes[4] = {};
    for (const page::Attempt& attempt : attempts) {
        std::vector<std::size_t>& own = lanes[attempt.where];
        auto lane = std::find_if(own.begin(), own.end(), [&](std::size_t row) { return free[row] <= attempt.begin; });
        if (lane == own.end()) {
            if (figure.rows.size() == most_rows) {
                ++hidden;
                continue;
            }
            figure.rows.push_back({printable_line(attempt.where), {}});
            free.push_back(0);
            lane = own.insert(own.end(), figure.rows.size() - 1);
        }
        const std::string& end = attempt.end;
        const Shape shape = end == "complete"                     ? Shape::dot
                            : end == "stopped" || end == "paused" ? Shape::ring
                            : end == "running"                    ? Shape::star
                                                                  : Shape::cross;
        const Tone tone = shape == Shape::dot    ? Tone::line
                          : shape == Shape::ring ? Tone::faint
                          : shape == Shape::star ? Tone::best
                                                 : Tone::bad;
        shapes[static_cast<int>(shape)] = true;
        figure.rows[*lane].bars.push_back(
            {attempt.begin - begin, attempt.until - begin, shape, tone, std::to_string(attempt.trial)});
        free[*lane] = attempt.until;
    }
    std::stable_sort(figure.rows.begin(), figure.rows.end(), [](const Row& a, const Row& b) {
        return a.label.size() != b.label.size() ? a.label.size() < b.label.size() : a.label < b.label;  // cpu 2, cpu 10
    });
    figure.title = study.name + ": where its trials ran, " + duration_text(until - begin);
    const Key keys[] = {{Shape::dot, Tone::line, "complete"},
                        {Shape::ring, Tone::faint, "stopped or paused"},
                        {Shape::cross, Tone::bad, "failed, diverged or interrupted"},
                        {Shape::star, Tone::best, "running"}};
    for (const Key& key : keys)
        if (shapes[static_cast<int>(key.shape)]) figure.keys.push_back(key);
    if (hidden > 0)
        figure.notes.push_back(counted(static_cast<std::int64_t>(hidden), "attempt") +
                               " in further rows: hpo report shows all");
    return figure;
}

Figure front(const Study& study, const StudyRecord& record) {
    constexpr std::size_t most_panels = 6;
    Figure figure;
    const std::vector<Goal> goals = goals_of(study.objective);
    if (goals.size() < 2)
        return figure.nothing =
                   "study " + study.name + " has one objective: hpo plot " + study.name + " history shows its trials",
               figure;
    if (!any_value(record, study)) return figure.nothing = without_values(study, record), figure;
    const auto front = front_of(record, study.objective);
    const auto in_front = [&](const TrialRecord& trial) {
        return std::find(front.begin(), front.end(), &trial) != front.end();
    };
    for (std::size_t i = 0; i < goals.size(); ++i)
        for (std::size_t j = i + 1; j < goals.size() && figure.panels.size() < most_panels; ++j) {
            std::vector<std::string> notes;
            const auto [left, right] = range_of(study, record, goals[i], notes);
            const auto [low, high] = range_of(study, record, goals[j], notes);
            Panel panel{scale(printable_line(goals[i].metric), left, right),
                        scale(printable_line(goals[j].metric), low, high),
                        {},
                        {},
                        {}};
            Marks others{Shape::ring, Tone::plain, {}}, broken{Shape::cross, Tone::bad, {}},
                best{Shape::dot, Tone::best, {}};
            for (const TrialRecord& trial : record.trials) {
                const auto x = value_of(trial, study, goals[i]), y = value_of(trial, study, goals[j]);
                if (!x || !y) continue;
                (in_front(trial)                        ? best
                 : !may_be_best(trial, study.objective) ? broken
                                                        : others)
                    .points.push_back({*x, *y});
            }
            // A point of the front dominates the area between its neighbours' values: a staircase.
            if (goals.size() == 2) {
                Path path{Tone::best, {}};
                for (const Point& point : best.points) path.points.push_back(point);
                std::sort(path.points.begin(), path.points.end(),
                          [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
                const bool first_corner = goals[0].direction == Direction::minimize;
                std::vector<Point> stairs;
                for (std::size_t k = 0; k < path.points.size(); ++k) {
                    if (k > 0)
                        stairs.push_back(first_corner ? Point{path.points[k].x, path.points[k - 1].y}
                                                      : Point{path.points[k - 1].x, path.points[k].y});
                    stairs.push_back(path.points[k]);
                }
                path.points = std::move(stairs);
                panel.paths.push_back(std::move(path));
            }
            for (const Marks* marks : {&others, &broken, &best})
                if (!marks->points.empty()) panel.marks.push_back(*marks);
            figure.panels.push_back(std::move(panel));
            for (std::string& note : notes)
                if (std::find(figure.notes.begin(), figure.notes.end(), note) == figure.notes.end())
                    figure.notes.push_back(std::move(note));
        }
    figure.title = study.name + ": " + counted(static_cast<std::int64_t>(front.size()), "trial") + " of " +
                   std::to_string(record.trials.size()) + (front.size() == 1 ? " forms" : " form") +
                   " the Pareto front";
    figure.keys.push_back({Shape::dot, Tone::best, "on the front"});
    figure.keys.push_back({Shape::ring, Tone::plain, "dominated"});
    if (std::any_of(figure.panels.begin(), figure.panels.end(), [](const Panel& panel) {
            return std::any_of(panel.marks.begin(), panel.marks.end(),
                               [](const Marks& marks) { return marks.shape == Shape::cross; });
        }))
        figure.keys.push_back({Shape::cross, Tone::bad, "failed, or breaks a constraint"});
    return figure;
}

}  // namespace hpo::plot
