// Reads experiments of Katib (Kubeflow). The command of their trials' container becomes an unchanged script.
#include <algorithm>
#include <cmath>

#include "hpo/text.hpp"
#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/katib.hpp"
#include "orchestrator/import/reading.hpp"
#include "orchestrator/import/registry.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using std::string;
using std::string_view;
using study::find;
using study::Node;
using study::printable;

bool is_whole_text(const Node* node) {
    if (node == nullptr) return true;
    Node bare = *node;
    bare.plain = true;
    return is_whole(bare);
}

class KatibExperiment {
   public:
    KatibExperiment(const Reading& reading, const Node& root)
        : reading_(reading), builder_(reading.builder), root_(root), spec_(*find(root, "spec")) {}

    void read() {
        if (refuse_architecture_search()) return;
        reading_.leave_out_others(spec_,
                                  {"objective", "algorithm", "earlyStopping", "parallelTrialCount", "maxTrialCount",
                                   "nasConfig", "parameters", "trialTemplate", "metricsCollectorSpec", "resumePolicy"},
                                  "the experiment");
        if (const Node* metadata = find(root_, "metadata"))
            for (const char* key : {"name", "generateName"})
                if (builder_.study.name.empty()) builder_.study.name = as_study_name(text_of(find(*metadata, key)));
        builder_.script().metrics.emplace();
        objective();
        parameters();
        read_katib_template(reading_, root_, names_);
        read_katib_metrics(reading_, spec_, metrics_);
        budget();
        early_stopping();
        algorithm();
        // A trial's value in Katib is the best, or the last, of all that its container reports before it ends.
        choose_epochs(builder_, 0);
    }

   private:
    /// Reports experiments that search for a network's architecture.
    bool refuse_architecture_search() {
        const Node* nas = find(spec_, "nasConfig");
        const Node* algorithm = find(spec_, "algorithm");
        const string name = algorithm == nullptr ? "" : text_of(find(*algorithm, "algorithmName"));
        if (nas == nullptr && name != "enas" && name != "darts") return false;
        reading_.error((nas != nullptr ? nas : algorithm)->location,
                       "a search for a network's architecture" + (name.empty() ? "" : " (" + name + ")") +
                           " has no counterpart here: hpo searches for parameters; declare sizes of the network as "
                           "'parameters' of an experiment with another algorithm");
        return true;
    }

    void objective() {
        Objective& objective = builder_.study.objective;
        objective = {"objective", Direction::maximize, Objective::At::best};
        const Node* node = find(spec_, "objective");
        if (node == nullptr) return reading_.error(spec_.location, "'spec' has no 'objective'");
        const string name = text_of(find(*node, "objectiveMetricName"));
        if (name.empty()) return reading_.error(node->location, "'objective' has no 'objectiveMetricName'");
        objective.metric = metric_name_of(name);
        metrics_.push_back(name);
        if (const Node* further = find(*node, "additionalMetricNames"))
            for (const Node& item : further->items)
                if (text_of(&item) != name) metrics_.push_back(text_of(&item));
        if (objective.metric != name)
            builder_.remark("objective", node->location,
                            "the metric '" + name + "' is called " + objective.metric + " here");
        const Node* type = find(*node, "type");
        if (text_of(type) == "minimize")
            objective.direction = Direction::minimize;
        else if (text_of(type) != "maximize")
            reading_.error((type == nullptr ? node : type)->location,
                           "'type' of the objective is minimize or maximize");
        if (const Node* goal = find(*node, "goal"))
            builder_.remark(
                "objective", goal->location,
                "no study ends at a goal: budget.patience ends it after a number of trials without an improvement, "
                "hpo stop ends it at once");
        if (const Node* strategies = find(*node, "metricStrategies"))
            for (const Node& item : strategies->items)
                if (text_of(find(item, "name")) == name) strategy(text_of(find(item, "value")), item.location);
        reading_.leave_out_others(
            *node, {"objectiveMetricName", "additionalMetricNames", "type", "goal", "metricStrategies"}, "'objective'");
    }

    /// Reads which of a trial's numbers is its value.
    void strategy(const string& value, const study::Location& location) {
        Objective& objective = builder_.study.objective;
        if (value == "latest")
            objective.at = Objective::At::last;
        else if (value != (objective.direction == Direction::minimize ? "min" : "max"))
            reading_.error(location, "a trial's value here is its best or its last number: 'value' must be " +
                                         string(objective.direction == Direction::minimize ? "min" : "max") +
                                         " or latest, found " + printable(value));
    }

    void parameters() {
        const Node* all = find(spec_, "parameters");
        if (all == nullptr || all->kind != Node::Kind::list || all->items.empty())
            return reading_.error(
                (all == nullptr ? spec_ : *all).location,
                "'parameters' must be a list of parameters with name, parameterType and feasibleSpace");
        for (const Node& item : all->items) {
            const string name = text_of(find(item, "name"));
            const Node* space = find(item, "feasibleSpace");
            if (name.empty() || space == nullptr) {
                reading_.error(item.location, "a parameter has 'name', 'parameterType' and 'feasibleSpace'");
                continue;
            }
            const auto before = builder_.study.space.size();
            const string problem = parameter(name, text_of(find(item, "parameterType")), *space, item.location);
            if (!problem.empty() || builder_.study.space.size() == before)
                reading_.error(item.location, "'" + printable(name) + "': " + problem);
            else
                names_[name] = builder_.study.space.back().name;
        }
    }

    string parameter(const string& name, const string& type, const Node& space, const study::Location& location) {
        reading_.leave_out_others(space, {"min", "max", "step", "list", "distribution"}, "'" + name + "'");
        if (type == "categorical" || type == "discrete") {
            const Node* list = find(space, "list");
            if (list == nullptr || list->items.empty()) return "'feasibleSpace' needs a 'list' of at least one value";
            std::vector<Node> bare = list->items;
            std::vector<const Node*> choices;
            for (Node& choice : bare) {
                if (type == "discrete") choice.plain = true;
                if (type == "discrete" && !number_of(choice))
                    return "'list' of a discrete parameter must contain numbers";
                choices.push_back(&choice);
            }
            return add_choices(builder_, name, choices, LiteralStyle::json);
        }
        if (type != "double" && type != "int") return "'parameterType' is double, int, discrete or categorical";
        const Node *low = find(space, "min"), *high = find(space, "max"), *step = find(space, "step");
        Range range{quoted_number(low).value_or(std::nan("")), quoted_number(high).value_or(std::nan(""))};
        if (std::isnan(range.low) || std::isnan(range.high))
            return "'feasibleSpace' needs 'min' and 'max', two numbers";
        const string shape = text_of(find(space, "distribution"));
        range.log = shape == "logUniform" || shape == "logNormal";
        range.whole = type == "int" && is_whole_text(low) && is_whole_text(high) && is_whole_text(step);
        if (shape == "normal" || shape == "logNormal")
            builder_.remark("space." + StudyBuilder::study_name_of(name), location,
                            shape + " becomes a uniform distribution" + (range.log ? " of the logarithm" : "") +
                                " between the bounds");
        else if (!shape.empty() && !range.log && shape != "uniform")
            return "no distribution '" + printable(shape) + "'; known: uniform, logUniform, normal, logNormal";
        if (step == nullptr || text_of(step).empty()) return add_range(builder_, name, range, location);
        const auto quantum = quoted_number(step);
        if (!quantum || !(*quantum > 0)) return "'step' must be above 0";
        if (range.low > range.high || !(range.high - range.low < 1e9 * *quantum))
            return add_range(builder_, name, range, location);
        if (range.log) {
            builder_.remark("space." + StudyBuilder::study_name_of(name), location,
                            "a logarithmic range cannot have steps: any number in it is tried");
            return add_range(builder_, name, range, location);
        }
        return add_stepped(builder_, name, range, *quantum, location);
    }

    // ---- The budget and the algorithms.

    [[nodiscard]] std::optional<double> whole_of(const char* key) const {
        const Node* node = find(spec_, key);
        const auto number = quoted_number(node);
        if (node != nullptr && !(number && *number >= 1 && std::floor(*number) == *number))
            reading_.error(node->location, "'" + string(key) + "' must be a whole number of at least 1");
        return number;
    }

    void budget() {
        Study& study = builder_.study;
        if (const auto number = whole_of("maxTrialCount"))
            study.budget.trials = static_cast<std::int64_t>(std::clamp(*number, 1.0, 1e6));
        else
            builder_.remark("budget", 0,
                            "the experiment does not limit the number of trials: here " +
                                std::to_string(study.budget.trials) + "; hpo run --trials N runs more");
        if (const auto number = whole_of("parallelTrialCount")) {
            study.resources.parallel = static_cast<std::int64_t>(std::clamp(*number, 1.0, 1e4));
            builder_.comment("resources", "parallel: auto runs as many trials at once as fit");
        }
    }

    /// Returns a setting of an algorithm, or `otherwise` if it is missing or not a number from 0 to 1e6.
    static double setting(const Node& algorithm, string_view name, double otherwise) {
        if (const Node* list = find(algorithm, "algorithmSettings"))
            for (const Node& item : list->items)
                if (text_of(find(item, "name")) == name) {
                    const double number = quoted_number(find(item, "value")).value_or(otherwise);
                    return number >= 0 && number <= 1e6 ? number : otherwise;
                }
        return otherwise;
    }

    void early_stopping() {
        const Node* node = find(spec_, "earlyStopping");
        if (node == nullptr) return;
        const string name = text_of(find(*node, "algorithmName"));
        if (name != "medianstop")
            return builder_.remark(
                "stopping", node->location,
                "early stopping by '" + name + "' is not known: see the rules plateau, median and asha");
        const auto grace = static_cast<std::int64_t>(std::max(1.0, setting(*node, "start_step", 4)));
        builder_.study.stopping.push_back({"median", {{"grace", grace}}});
    }

    void algorithm() {
        const Node* node = find(spec_, "algorithm");
        const string name = node == nullptr ? "" : text_of(find(*node, "algorithmName"));
        const study::Location location = node == nullptr ? study::Location{} : node->location;
        if (name == "random") {
            use_random(builder_);
        } else if (name == "grid") {
            grid(location);
        } else if (name == "sobol" || name == "cmaes") {
            builder_.study.sampler = {name, {}};
        } else if (name == "hyperband") {
            hyperband(*node);
        } else if (name == "pbt") {
            reading_.error(location,
                           "population-based training (pbt) has no counterpart here, since trials do not go on from "
                           "the checkpoints of others: choose another algorithm, such as algorithmName: tpe, and give "
                           "each trial a folder of its own for its checkpoints");
        } else if (name == "tpe" || name == "multivariate-tpe" || name == "bayesianoptimization") {
            builder_.comment(
                "sampler",
                name + " in the original; auto is gp, or tpe for long studies and those with stopping rules");
        } else {
            builder_.remark("sampler", location, "the algorithm '" + name + "' has no counterpart here: auto is used");
        }
    }

    /// Tries no more combinations than the experiment does.
    void grid(const study::Location& location) {
        const std::int64_t most = builder_.study.budget.trials;
        use_grid(reading_, location);
        const std::int64_t all = builder_.study.budget.trials;
        if (most >= all || find(spec_, "maxTrialCount") == nullptr) return;
        builder_.study.budget.trials = most;
        builder_.remark("budget", find(spec_, "maxTrialCount")->location,
                        "the grid has " + std::to_string(all) + " combinations, of which " + std::to_string(most) +
                            " (maxTrialCount) are tried, spread over the grid; hpo run --trials " +
                            std::to_string(all) + " tries all");
    }

    /// Reads Hyperband, which gives a parameter the epochs that a trial may take. Here each trial takes as many as the
    /// longest.
    void hyperband(const Node& node) {
        use_random(builder_);
        string resource;
        if (const Node* list = find(node, "algorithmSettings"))
            for (const Node& item : list->items)
                if (text_of(find(item, "name")) == "resource_name") resource = text_of(find(item, "value"));
        const double longest = setting(node, "r_l", 0);
        const auto known = names_.find(resource);
        if (known == names_.end() || !(longest >= 1))
            return reading_.error(node.location,
                                  "hyperband needs the settings 'resource_name', one of the parameters, and 'r_l', the "
                                  "most of it that a trial takes");
        auto& space = builder_.study.space;
        std::erase_if(space, [&](const Dimension& dimension) { return dimension.name == known->second; });
        builder_.fix(known->second, static_cast<std::int64_t>(longest));
        builder_.remark(
            "stopping", node.location,
            "hyperband is left out, since the file does not say how often a script reports within an epoch: "
            "each trial has " +
                resource + " = " + exact_number(longest) +
                " (r_l). If it reports once an epoch, set budget.epochs to that and stopping: [{rule: asha, "
                "grace: 1, factor: " +
                exact_number(std::clamp(std::round(setting(node, "eta", 3)), 2.0, 1000.0)) + "}]");
    }

    const Reading& reading_;
    StudyBuilder& builder_;
    const Node& root_;
    const Node& spec_;
    KatibNames names_;
    std::vector<string> metrics_;  ///< names of the objective and of additional metrics, as in the file
};

bool is_katib_experiment(const Node& root) {
    if (root.kind != Node::Kind::map) return false;
    const Node* spec = find(root, "spec");
    return spec != nullptr && spec->kind == Node::Kind::map && text_of(find(root, "kind")) == "Experiment" &&
           (find(*spec, "parameters") != nullptr || find(*spec, "nasConfig") != nullptr);
}

void read_katib_experiment(const Reading& reading, const Node& root) { KatibExperiment(reading, root).read(); }

}  // namespace

const Format katib_experiment{"katib", "an experiment of Katib", "'kind: Experiment' and 'parameters' in its 'spec'",
                              is_katib_experiment, read_katib_experiment};

}  // namespace hpo::importing
