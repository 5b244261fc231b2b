#include "orchestrator/import/optuna_study.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "hpo/dimension_value.hpp"
#include "hpo/nearest.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::importing {

namespace {

using Json = nlohmann::json;

constexpr std::string_view metric_characters = "._-/@%^+&():#";  // beside letters and digits

bool is_complete(const OptunaTrial& trial) { return trial.state == "COMPLETE"; }

bool has_ended(const OptunaTrial& trial) {
    return is_complete(trial) || trial.state == "PRUNED" || trial.state == "FAIL";
}

/// Returns the name with '_' in place of each character that names in a study may not have.
std::string name_in_study(std::string name, std::string_view allowed) {
    for (char& c : name)
        if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)) &&
            allowed.find(c) == std::string_view::npos)
            c = '_';
    const bool begins = !name.empty() && (static_cast<unsigned char>(name[0]) >= 0x80 || name[0] == '_' ||
                                          std::isalpha(static_cast<unsigned char>(name[0])));
    return begins ? name : '_' + name;
}

/// Reads a distribution of any version since Optuna 1. Throws nlohmann's exceptions for others.
Dimension dimension_of(const std::string& distribution) {
    const Json json = Json::parse(distribution);
    const std::string name = json.at("name").get<std::string>();
    const Json& of = json.at("attributes");
    Dimension dimension;
    if (name == "CategoricalDistribution") {
        dimension.kind = Kind::categorical;
        for (const Json& choice : of.at("choices")) dimension.choices.push_back(wire::to_value(choice));
        return dimension;
    }
    dimension.kind = name.starts_with("Int") ? Kind::integer : Kind::real;
    dimension.low = of.at("low").get<double>();
    dimension.high = of.at("high").get<double>();
    dimension.log = name.find("Log") != std::string::npos || (of.contains("log") && of["log"].get<bool>());
    for (const char* key : {"step", "q"})
        if (of.contains(key) && !of[key].is_null()) dimension.step = of[key].get<double>();
    if (dimension.kind == Kind::integer && dimension.step == 1.0) dimension.step.reset();
    if (dimension.log) dimension.step.reset();
    return dimension;
}

/// Throws std::out_of_range for a number that is no value of the parameter.
Value value_of(const Dimension& of_trial, double internal) {
    constexpr double most = 9007199254740992;  // 2^53
    if (!(std::abs(internal) <= most)) throw std::out_of_range("no value");
    if (of_trial.kind == Kind::categorical)
        return of_trial.choices.at(static_cast<std::size_t>(internal < 0 ? most : internal));
    if (of_trial.kind == Kind::integer) return static_cast<std::int64_t>(std::llround(internal));
    return internal;
}

/// Widens `all` by a distribution of another trial. Returns false if the two have no common kind.
bool widen(Dimension& all, const Dimension& more) {
    if ((all.kind == Kind::categorical) != (more.kind == Kind::categorical)) return false;
    for (const Value& choice : more.choices)
        if (std::ranges::none_of(all.choices, [&](const Value& known) { return same_value(known, choice); }))
            all.choices.push_back(choice);
    if (all.kind == Kind::categorical) return true;
    const bool same_steps = all.step == more.step && all.kind == more.kind &&
                            std::fmod(std::abs(more.low - all.low), all.step.value_or(1)) == 0;
    if (more.kind == Kind::real) all.kind = Kind::real;
    all.low = std::min(all.low, more.low);
    all.high = std::max(all.high, more.high);
    all.log = all.log && more.log;
    if (!same_steps) all.step.reset();
    return true;
}

bool same_distribution(const Dimension& a, const Dimension& b) {
    return a.kind == b.kind && a.low == b.low && a.high == b.high && a.step == b.step && a.log == b.log &&
           a.choices == b.choices;
}

class Importer {
   public:
    Importer(const OptunaStudy& optuna, const std::string& source) : optuna_(optuna), source_(source) {}

    Result<ImportedStudy> imported(const std::string& name) {
        for (const OptunaTrial& trial : optuna_.trials)
            if (has_ended(trial)) trials_.push_back(&trial);
        if (trials_.empty())
            return Error{"study '" + optuna_.name + "' of " + source_ + " has no trial that has ended" +
                         (optuna_.trials.empty() ? "" : ": wait until one has")};
        if (auto space = read_space(); !space) return space.error();
        find_conditions();
        Study study;
        study.name = name;
        study.worker = NoWorker{};
        study.space = space_;
        study.policy.scaled = false;
        study.budget.trials = static_cast<std::int64_t>(trials_.size());
        name_metrics(study.objective);
        take_constraints(study.objective);
        take_steps(study);
        study.source = write_study(study);
        auto read = parse_study(study.source, "the imported study");
        if (!read)
            return Error{"study '" + optuna_.name + "' of " + source_ + " makes no study of hpo:\n" +
                         read.error().message};
        result_.study = *std::move(read);
        result_.seconds = optuna_.seconds;
        for (std::size_t i = 0; i < trials_.size(); ++i) add_trial(i);
        tell_what_is_left_out();
        return std::move(result_);
    }

   private:
    void remark(std::string text) { result_.remarks.push_back(std::move(text)); }

    Error wrong(const OptunaTrial& trial, const std::string& message) const {
        return {source_ + ": trial " + std::to_string(trial.number) + " of study '" + optuna_.name + "': " + message};
    }

    /// Reads the parameters of all trials, and the space that holds them.
    Result<void> read_space() {
        std::map<std::string, std::size_t> known;     // by Optuna's name
        std::map<std::string, std::string> given_by;  // Optuna's name by that in the study
        std::set<std::string> widened;
        params_.resize(trials_.size());
        for (std::size_t t = 0; t < trials_.size(); ++t)
            for (const OptunaParameter& param : trials_[t]->params) {
                Dimension of_trial;
                Value value;
                try {
                    of_trial = dimension_of(param.distribution);
                    value = value_of(of_trial, param.value);
                } catch (const std::exception&) {
                    return wrong(*trials_[t], "parameter '" + printable(param.name) +
                                                  "' has a distribution that hpo does not know: " +
                                                  printable(param.distribution).substr(0, 200));
                }
                const auto [at, is_new] = known.try_emplace(param.name, space_.size());
                if (is_new) {
                    of_trial.name = name_in_study(param.name, "_-.");
                    if (const auto [other, free] = given_by.try_emplace(of_trial.name, param.name); !free)
                        return wrong(*trials_[t], "parameters '" + printable(other->second) + "' and '" +
                                                      printable(param.name) + "' would both be called '" +
                                                      printable(of_trial.name) + "' in hpo: rename one in Optuna");
                    if (of_trial.name != param.name)
                        remark("parameter '" + printable(param.name) + "' is called " + printable(of_trial.name) +
                               ": names have letters, digits, '_', '-' and '.'");
                    space_.push_back(of_trial);
                    first_.push_back(of_trial);
                } else if (!same_distribution(of_trial, first_[at->second])) {
                    if (!widen(space_[at->second], of_trial))
                        return wrong(*trials_[t], "parameter '" + printable(param.name) +
                                                      "' is a number in some trials and categorical in others: import "
                                                      "a study with the trials of one kind (study.add_trials)");
                    widened.insert(param.name);
                }
                params_[t][space_[at->second].name] = std::move(value);
            }
        // What began as a whole number is a float where a later trial made it one.
        for (Params& params : params_)
            for (const Dimension& dimension : space_)
                if (const auto found = params.find(dimension.name);
                    found != params.end() && dimension.kind == Kind::real)
                    found->second = number_or(found->second, 0);
        for (const std::string& name : widened)
            remark("the distribution of '" + printable(name) +
                   "' changed between trials: its space is that of all: " + printable(describe(space_[known[name]])));
        return {};
    }

    /// Returns whether a trial shows which parameters exist: one that failed or was pruned may have ended before all
    /// were suggested.
    [[nodiscard]] bool tells(std::size_t trial) const { return is_complete(*trials_[trial]); }

    /// Returns the values of `parent` with which `child` exists, if they explain all complete trials.
    [[nodiscard]] std::optional<Condition> condition(const std::string& child, const Dimension& parent) const {
        Condition found{parent.name, {}};
        if (parent.kind == Kind::real) return std::nullopt;
        std::vector<Value> without;
        const auto add = [](std::vector<Value>& values, const Value& value) {
            if (std::ranges::find(values, value) == values.end()) values.push_back(value);
        };
        for (std::size_t t = 0; t < params_.size(); ++t) {
            if (!tells(t)) continue;
            const bool present = params_[t].contains(child);
            const auto value = params_[t].find(parent.name);
            if (value == params_[t].end()) {
                if (present) return std::nullopt;
                continue;
            }
            add(present ? found.any_of : without, value->second);
        }
        const auto excluded = [&](const Value& value) { return std::ranges::find(without, value) != without.end(); };
        if (found.any_of.empty() || without.empty() || std::ranges::any_of(found.any_of, excluded)) return std::nullopt;
        std::ranges::sort(found.any_of);
        return found;
    }

    void find_conditions() {
        const auto complete =
            std::ranges::count_if(trials_, [](const OptunaTrial* trial) { return is_complete(*trial); });
        std::string unexplained;
        for (Dimension& child : space_) {
            std::int64_t present = 0;
            for (std::size_t t = 0; t < params_.size(); ++t) present += tells(t) && params_[t].contains(child.name);
            if (present == complete || present == 0) continue;
            // Of several explanations the one by the fewest values is the plainest; a categorical one comes first.
            const Dimension* parent = nullptr;
            std::optional<Condition> best;
            for (const Dimension& other : space_) {
                if (other.name == child.name) continue;
                auto found = condition(child.name, other);
                const bool plainer =
                    found && (!best || (other.kind == Kind::categorical && parent->kind != Kind::categorical));
                if (plainer) best = std::move(found), parent = &other;
            }
            if (best) {
                child.when = {*best};
                std::string values;
                for (const Value& value : best->any_of)
                    values += (values.empty() ? "" : ", ") + printable(to_text(value));
                remark(child.name + " exists only with " + best->parameter + " = " + values +
                       ", as in all complete trials: check its 'when' before you search on");
            } else {
                unexplained += (unexplained.empty() ? "" : ", ") + child.name;
            }
        }
        if (!unexplained.empty())
            remark("not all trials have " + unexplained +
                   ", and no other parameter explains which ones do: the space has them without a condition");
    }

    void name_metrics(Objective& objective) {
        const std::size_t count = optuna_.directions.size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::string unnamed = count == 1 ? "value" : "values_" + std::to_string(i);
            metrics_.push_back(i < optuna_.metrics.size() ? name_in_study(optuna_.metrics[i], metric_characters)
                                                          : unnamed);
        }
        objective.metric = metrics_.front();
        objective.direction = optuna_.directions.front();
        for (std::size_t i = 1; i < count; ++i) objective.further.push_back({metrics_[i], optuna_.directions[i]});
    }

    /// Takes the constraints over that each complete trial has.
    void take_constraints(Objective& objective) {
        std::map<std::string, std::size_t> with;  // complete trials, by the constraint's name
        std::size_t complete = 0;
        for (const OptunaTrial* trial : trials_) {
            if (!is_complete(*trial)) continue;
            ++complete;
            for (const auto& [name, value] : trial->constraints) ++with[name];
        }
        for (const auto& [name, trials] : with)
            if (trials == complete) {
                constraints_[name] = name_in_study("constraint_" + name, metric_characters);
                objective.constraints.push_back({.metric = constraints_[name], .min = {}, .max = 0});
            } else {
                remark("constraint " + printable(name) + " is left out: " + std::to_string(complete - trials) + " of " +
                       counted(static_cast<std::int64_t>(complete), "complete trial") + " do not have it");
            }
    }

    /// Decides which step's value is that of a trial: the last one's, unless all have returned the best of their steps.
    void take_steps(Study& study) {
        bool all_last = true, all_best = true;
        for (const OptunaTrial* trial : trials_) {
            for (const auto& [step, number] : trial->steps) steps_[step];
            if (trial->steps.empty() || !is_complete(*trial) || trial->values.empty()) continue;
            const double value = trial->values.front();
            if (!std::isfinite(value)) continue;
            all_last = all_last && value == trial->steps.rbegin()->second;
            double best = trial->steps.begin()->second;
            for (const auto& [step, number] : trial->steps)
                if (std::isnan(best) || better(optuna_.directions.front(), number, best)) best = number;
            all_best = all_best && value == best;
        }
        study.objective.at = !all_last && all_best ? Objective::At::best : Objective::At::last;
        const bool returns_more = !all_last && !all_best;
        if (returns_more)
            remark(
                "the values of trials are neither their last nor their best intermediate values: each is a step of "
                "its own after these");
        study.budget.epochs = number_steps() + (returns_more ? 1 : 0);
    }

    /// Numbers the steps, and returns the largest number. Steps of hpo count from 1.
    std::int64_t number_steps() {
        if (steps_.empty()) return 1;
        const std::int64_t lowest = steps_.begin()->first, highest = steps_.rbegin()->first;
        const bool few =
            lowest > -Budget::most_epochs && highest < Budget::most_epochs - 1 - std::max<std::int64_t>(0, -lowest);
        const std::int64_t shift = few ? 1 - std::min<std::int64_t>(1, lowest) : 0;
        std::int64_t next = 0;
        for (auto& [step, number] : steps_) number = few ? step + shift : ++next;
        if (!few)
            remark("steps are numbered from 1 to " + std::to_string(next) + ", since studies have at most " +
                   std::to_string(Budget::most_epochs));
        else if (shift != 0)
            remark("steps count from 1, and are larger by " + std::to_string(shift) + " than in Optuna");
        return steps_.rbegin()->second;
    }

    /// Returns the reports of a trial: its intermediate values, and its value if none of these is it.
    [[nodiscard]] std::vector<Report> reports_of(const OptunaTrial& trial) const {
        std::vector<Report> reports;
        for (const auto& [step, value] : trial.steps)
            reports.push_back({.step = steps_.at(step), .metrics = {{metrics_.front(), value}}});
        if (trial.values.empty()) return reports;
        const auto is_value = [&](const Report& report) {
            return report.metrics.find(metrics_.front())->second == trial.values.front();
        };
        const bool told = !reports.empty() &&
                          (result_.study.objective.at == Objective::At::best ? std::ranges::any_of(reports, is_value)
                                                                             : is_value(reports.back()));
        if (!told && (is_complete(trial) || reports.empty())) {
            const std::int64_t last = reports.empty() ? 0 : reports.back().step;
            reports.push_back({.step = last + 1, .metrics = {}});
            for (std::size_t i = 0; i < std::min(metrics_.size(), trial.values.size()); ++i)
                reports.back().metrics[metrics_[i]] = trial.values[i];
        }
        for (Report& report : reports)
            for (const auto& [name, value] : trial.constraints)
                if (const auto kept = constraints_.find(name); kept != constraints_.end())
                    report.metrics[kept->second] = value;
        return reports;
    }

    void add_trial(std::size_t index) {
        const OptunaTrial& from = *trials_[index];
        const auto trial = static_cast<std::int64_t>(index) + 1;
        result_.events.push_back(event::Proposed{trial, {}, params_[index], 0});
        Allocation nothing;
        nothing.footprint = {0, 0, 0};
        result_.events.push_back(event::Launched{trial, 1, "Optuna", std::move(nothing)});
        std::vector<Report> reports = reports_of(from);
        if (!reports.empty()) reports.back().seconds = from.seconds;
        for (Report& report : reports) result_.events.push_back(event::Reported{trial, 1, std::move(report)});
        event::Finished end{trial, 1, TrialState::complete, "", ""};
        const bool finite = std::ranges::all_of(from.values, [](double value) { return std::isfinite(value); });
        if (from.state == "FAIL" || (is_complete(from) && from.values.size() != metrics_.size())) {
            end.state = TrialState::failed;
            end.reason = !from.failure.empty()  ? from.failure
                         : from.state == "FAIL" ? "failed in Optuna"
                                                : "complete in Optuna without a value of each objective";
        } else if (!finite) {
            end.state = TrialState::diverged;
            end.reason = "its value is not finite";
        } else if (from.state == "PRUNED") {
            end.state = TrialState::stopped;
            end.rule = "optuna";
            end.reason = "pruned";
        }
        result_.events.push_back(std::move(end));
    }

    void tell_what_is_left_out() {
        if (const std::size_t open = optuna_.trials.size() - trials_.size(); open > 0) {
            const auto first = std::ranges::find_if_not(optuna_.trials, has_ended);
            const bool renumbers = std::ranges::any_of(first, optuna_.trials.end(), has_ended);
            remark(
                counted(static_cast<std::int64_t>(open), "trial that had not ended is",
                        "trials that had not ended are") +
                " left out" +
                (renumbers ? ": trials after number " + std::to_string(first->number) + " have smaller numbers" : ""));
        }
        if (optuna_.user_attributes > 0)
            remark(counted(optuna_.user_attributes, "user attribute is", "user attributes are") + " left out");
    }

    const OptunaStudy& optuna_;
    const std::string& source_;
    std::vector<const OptunaTrial*> trials_;  ///< those that have ended
    std::vector<Params> params_;              ///< by trial
    Space space_, first_;                     ///< of all trials together; as each parameter's first trial had it
    std::vector<std::string> metrics_;
    std::map<std::string, std::string> constraints_;  ///< metrics of those that are kept, by name
    std::map<std::int64_t, std::int64_t> steps_;      ///< numbers of the steps of all trials in hpo
    ImportedStudy result_;
};

}  // namespace

void take_system_attribute(OptunaTrial& trial, const std::string& key, std::string_view value) {
    constexpr std::string_view prefix = "constraints:";
    const Json json = Json::parse(value, nullptr, false);
    if (key == "fail_reason" && json.is_string()) trial.failure = json.get<std::string>();
    if (key == "constraints" && json.is_array())  // before Optuna 5, without names
        for (std::size_t i = 0; i < json.size(); ++i)
            if (json[i].is_number()) trial.constraints[std::to_string(i)] = json[i].get<double>();
    if (key.starts_with(prefix) && json.is_number()) trial.constraints[key.substr(prefix.size())] = json.get<double>();
}

std::vector<std::string> metric_names(std::string_view value) {
    const Json json = Json::parse(value, nullptr, false);
    if (!json.is_array() || !std::ranges::all_of(json, [](const Json& name) { return name.is_string(); })) return {};
    return json.get<std::vector<std::string>>();
}

Result<std::size_t> choose_optuna_study(const std::vector<std::string>& names, const std::string& name,
                                        const std::string& source) {
    constexpr std::size_t most = 20;
    if (names.empty()) return Error{source + ": has no study"};
    if (name.empty() && names.size() == 1) return std::size_t{0};
    if (const auto found = std::ranges::find(names, name); !name.empty() && found != names.end())
        return static_cast<std::size_t>(found - names.begin());
    std::string listed;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) listed += (i == 0 ? "" : ", ") + printable(names[i]);
    if (names.size() > most) listed += " and " + std::to_string(names.size() - most) + " more";
    if (name.empty()) return Error{source + ": has several studies, choose one by --study: " + listed};
    const std::string_view meant = nearest(name, {names.begin(), names.end()});
    return Error{source + ": has no study '" + printable(name) + "'" +
                 (meant.empty() ? "; it has " : "; did you mean '" + printable(meant) + "'? It has ") + listed};
}

std::optional<double> seconds_of_datetime(std::string_view text) {
    std::tm time{};
    std::string whole(text);
    if (const auto at = whole.find('T'); at != std::string::npos) whole[at] = ' ';
    const char* rest = strptime(whole.c_str(), "%Y-%m-%d %H:%M:%S", &time);
    if (rest == nullptr) return std::nullopt;
    const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0;
    return static_cast<double>(timegm(&time)) + fraction;
}

Result<ImportedStudy> import_optuna(const OptunaStudy& optuna, const std::string& name, const std::string& source) {
    return Importer(optuna, source).imported(name);
}

}  // namespace hpo::importing
