// Reads experiments of Katib (Kubeflow). The command of their trials' container becomes an unchanged script.
#include <algorithm>
#include <cmath>

#include "orchestrator/import/arguments.hpp"
#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/reading.hpp"
#include "orchestrator/import/registry.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using std::string;
using std::string_view;
using study::Entry;
using study::find;
using study::Node;
using study::printable;

/// Reads a number as Kubernetes writes it, in quotes: "0.01".
std::optional<double> quoted_number(const Node* node) {
    if (node == nullptr) return {};
    Node bare = *node;
    bare.plain = true;
    return number_of(bare);
}

bool is_whole_text(const Node* node) {
    if (node == nullptr) return true;
    Node bare = *node;
    bare.plain = true;
    return is_whole(bare);
}

/// Returns the first list below `node` with the key 'containers'.
const Node* containers_below(const Node& node) {
    if (const Node* here = find(node, "containers"); here != nullptr && here->kind == Node::Kind::list) return here;
    for (const Entry& entry : node.entries)
        if (const Node* found = containers_below(entry.value)) return found;
    return nullptr;
}

class KatibExperiment {
   public:
    KatibExperiment(const Reading& reading, const Node& root)
        : reading_(reading), builder_(reading.builder), root_(root), spec_(*find(root, "spec")) {}

    void read() {
        reading_.leave_out_others(spec_,
                                  {"objective", "algorithm", "earlyStopping", "parallelTrialCount", "maxTrialCount",
                                   "parameters", "trialTemplate", "metricsCollectorSpec", "resumePolicy"},
                                  "the experiment");
        if (const Node* metadata = find(root_, "metadata"))
            for (const char* key : {"name", "generateName"})
                if (builder_.study.name.empty()) builder_.study.name = as_study_name(text_of(find(*metadata, key)));
        builder_.study.metrics.emplace();
        objective();
        parameters();
        command();
        metrics();
        budget();
        early_stopping();
        algorithm();
        choose_epochs(builder_, steps_);
    }

   private:
    void objective() {
        Objective& objective = builder_.study.objective;
        objective = {"objective", Direction::maximize, Objective::At::best};
        const Node* node = find(spec_, "objective");
        if (node == nullptr) return reading_.error(spec_.location, "'spec' has no 'objective'");
        const string name = text_of(find(*node, "objectiveMetricName"));
        if (name.empty()) return reading_.error(node->location, "'objective' has no 'objectiveMetricName'");
        objective.metric = metric_name_of(name);
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
                if (text_of(find(item, "name")) == name && text_of(find(item, "value")) == "latest")
                    objective.at = Objective::At::last;
        reading_.leave_out_others(
            *node, {"objectiveMetricName", "additionalMetricNames", "type", "goal", "metricStrategies"}, "'objective'");
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
        return add_stepped(name, range, *quantum, location);
    }

    /// Adds a range whose values lie at multiples of `step` above its minimum, as Katib counts them.
    string add_stepped(const string& name, const Range& range, double step, const study::Location& location) {
        const double last = range.low + std::floor((range.high - range.low) / step + 1e-9) * step;
        Range stepped{range.low, rounded(last), false, {}, range.whole};
        if (const string problem = add_range(builder_, name, stepped, location); !problem.empty()) return problem;
        Dimension& dimension = builder_.study.space.back();
        if (dimension.low < dimension.high && !(range.whole && step == 1)) dimension.step = step;
        return {};
    }

    // ---- The command of its trials.

    void command() {
        const Node* pattern = find(spec_, "trialTemplate");
        const Node* spec = pattern == nullptr ? nullptr : find(*pattern, "trialSpec");
        const Node* all = spec == nullptr ? nullptr : containers_below(*spec);
        if (all == nullptr || all->items.empty()) {
            builder_.remark("worker", pattern == nullptr ? study::Location{} : pattern->location,
                            "there is no container with a command: replace train.py by the script");
            std::vector<string> arguments{"python3", "train.py"};
            for (const Dimension& dimension : builder_.study.space)
                arguments.push_back("--" + dimension.name + "={" + dimension.name + "}");
            builder_.study.command = std::move(arguments);
            return;
        }
        if (const Node* list = find(*pattern, "trialParameters")) references(*list);
        const string primary = text_of(find(*pattern, "primaryContainerName"));
        const auto named = std::find_if(all->items.begin(), all->items.end(),
                                        [&](const Node& item) { return text_of(find(item, "name")) == primary; });
        container(named == all->items.end() ? all->items.front() : *named);
    }

    void references(const Node& list) {
        for (const Node& item : list.items) {
            const string name = text_of(find(item, "name")), of = text_of(find(item, "reference"));
            const auto found = names_.find(of);
            if (found != names_.end())
                references_[name] = found->second;
            else if (of.starts_with("${trialSpec."))
                builder_.remark("worker", item.location,
                                "'" + name + "' is a value of Kubernetes (" + of + "): it is kept unchanged");
            else if (reading_.diagnostics.ok())
                reading_.error(item.location,
                               "'" + printable(name) + "' refers to no parameter, '" + printable(of) + "'");
        }
    }

    void container(const Node& node) {
        std::vector<string> arguments;
        for (const char* key : {"command", "args"}) {
            const Node* list = find(node, key);
            if (list == nullptr) continue;
            if (list->kind != Node::Kind::list)
                return reading_.error(list->location, "'" + string(key) + "' of a container is a list of texts");
            for (const Node& item : list->items) {
                const bool shell = arguments.size() > 1 && arguments[arguments.size() - 2].ends_with("sh") &&
                                   arguments.back().starts_with('-') && arguments.back().ends_with('c');
                arguments.push_back(word(item, shell));
            }
        }
        if (find(node, "command") == nullptr) {
            builder_.remark(
                "worker", node.location,
                "the program that the image runs by default is not known here: write it before these arguments");
            arguments.insert(arguments.begin(), {"python3", "train.py"});
        }
        if (arguments.empty() || arguments.front().empty())
            return reading_.error(node.location, "the container's command is empty");
        note_steps(arguments);
        builder_.study.command = std::move(arguments);
        if (const Node* image = find(node, "image"))
            builder_.remark("worker", image->location,
                            "the command runs on this machine as it is, not in the image " + text_of(image) +
                                ": its program and paths must be here");
        if (const Node* list = find(node, "env")) environment(*list);
        reading_.leave_out_others(node, {"name", "image", "imagePullPolicy", "command", "args", "env"},
                                  "the container");
        for (const auto& [name, dimension] : names_)
            if (std::none_of(references_.begin(), references_.end(),
                             [&](const auto& entry) { return entry.second == dimension; }))
                builder_.remark("worker", node.location,
                                "no trialParameters refers to '" + name + "': the command does not receive it");
    }

    /// Converts ${trialParameters.lr} to {lr}, or to a variable if the argument is a shell's script. Other braces
    /// remain text.
    string word(const Node& item, bool shell) {
        constexpr string_view begin = "${trialParameters.";
        string out;
        for (string_view rest = item.text; !rest.empty();) {
            const auto at = rest.find(begin);
            out += without_placeholders(rest.substr(0, at));
            if (at == string_view::npos) break;
            rest.remove_prefix(at);
            const auto end = rest.find('}');
            const string name(rest.substr(begin.size(), end == string_view::npos ? end : end - begin.size()));
            const auto found = references_.find(name);
            if (end == string_view::npos || found == references_.end()) {
                if (reading_.diagnostics.ok())
                    reading_.error(item.location, "no trialParameters is called '" + printable(name) + "'");
                break;
            }
            out += shell ? "${{" + script::variable_of(found->second) + "}}" : "{" + found->second + "}";
            rest.remove_prefix(end + 1);
        }
        return out;
    }

    /// Records the number of epochs of --epochs=5 or --epochs 5.
    void note_steps(const std::vector<string>& arguments) {
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (!arguments[i].starts_with("-")) continue;
            const auto sign = arguments[i].find('=');
            string name = arguments[i].substr(arguments[i].find_first_not_of('-') == string::npos
                                                  ? arguments[i].size()
                                                  : arguments[i].find_first_not_of('-'));
            name = name.substr(0, name.find('='));
            Node value;
            value.kind = Node::Kind::scalar;
            value.text = sign != string::npos       ? arguments[i].substr(sign + 1)
                         : i + 1 < arguments.size() ? arguments[i + 1]
                                                    : "";
            if (const auto number = number_of(value)) builder_.note_epochs(name, *number);
        }
    }

    void environment(const Node& list) {
        for (const Node& item : list.items) {
            const string name = text_of(find(item, "name"));
            const Node* value = find(item, "value");
            const bool ours = name.empty() || name.find('=') != string::npos || name.starts_with("HPO_") ||
                              name == "CUDA_VISIBLE_DEVICES";
            if (ours || value == nullptr || value->kind != Node::Kind::scalar || value->text.find("${") != string::npos)
                builder_.remark("worker", item.location,
                                "the variable '" + name +
                                    "' is left out: hpo sets HPO_PARAM_* for each parameter; set others in "
                                    "worker.environment");
            else
                builder_.study.environment.own[name] = value->text;
        }
    }

    void metrics() {
        const Node* node = find(spec_, "metricsCollectorSpec");
        if (node == nullptr) return;
        const Node* collector = find(*node, "collector");
        const string kind = collector == nullptr ? "" : text_of(find(*collector, "kind"));
        const Node* source = find(*node, "source");
        const Node* filter = source == nullptr ? nullptr : find(*source, "filter");
        const Node* formats = filter == nullptr ? nullptr : find(*filter, "metricsFormat");
        if (formats != nullptr)
            for (const Node& item : formats->items) {
                const string problem = script::problem_of_pattern(item.text);
                if (problem.empty() && item.kind == Node::Kind::scalar)
                    builder_.study.metrics->patterns.push_back(item.text);
                else
                    builder_.remark("worker", item.location, "this metricsFormat is left out: the pattern " + problem);
            }
        if (kind.empty() || kind == "StdOut") return;
        builder_.remark("worker", node->location,
                        "the collector '" + kind + "' is not known here: let the script print " +
                            builder_.study.objective.metric +
                            "=0.123 at each step, or write CSV or JSON Lines to a file in its folder and set metrics: "
                            "{file: \"{folder}/metrics.jsonl\"}");
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
            use_grid(reading_, location);
        } else if (name == "sobol") {
            builder_.study.sampler = {"sobol", {}};
        } else if (name == "cmaes") {
            builder_.study.sampler = {"cmaes", {}};
        } else if (name == "hyperband") {
            steps_ = static_cast<std::int64_t>(setting(*node, "r_l", 0));
            add_halving(builder_, 1, std::max(setting(*node, "eta", 3), 1.5), location, "hyperband");
        } else if (name == "tpe" || name == "multivariate-tpe" || name == "bayesianoptimization") {
            builder_.comment(
                "sampler",
                name + " in the original; auto is gp, or tpe for long studies and those with stopping rules");
        } else {
            builder_.remark("sampler", location, "the algorithm '" + name + "' has no counterpart here: auto is used");
        }
    }

    const Reading& reading_;
    StudyBuilder& builder_;
    const Node& root_;
    const Node& spec_;
    std::map<string, string> names_;       ///< names of parameters in Katib, with those in the study
    std::map<string, string> references_;  ///< names of trialParameters, with those in the study
    std::int64_t steps_ = 0;
};

bool is_katib_experiment(const Node& root) {
    if (root.kind != Node::Kind::map) return false;
    const Node* spec = find(root, "spec");
    return spec != nullptr && text_of(find(root, "kind")) == "Experiment" && find(*spec, "parameters") != nullptr;
}

void read_katib_experiment(const Reading& reading, const Node& root) { KatibExperiment(reading, root).read(); }

}  // namespace

const Format katib_experiment{"katib", "an experiment of Katib", "'kind: Experiment' and 'parameters' in its 'spec'",
                              is_katib_experiment, read_katib_experiment};

}  // namespace hpo::importing
