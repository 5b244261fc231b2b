// Reads configurations of Hydra's Optuna sweeper. Each parameter becomes an override among the arguments of the script.
#include <algorithm>
#include <cmath>

#include "orchestrator/import/arguments.hpp"
#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/hydra_sweep.hpp"
#include "orchestrator/import/reading.hpp"
#include "orchestrator/import/registry.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using std::string;
using std::string_view;
using study::Entry;
using study::find;
using study::Node;
using study::printable;

/// Returns the value of key.path, whether the file nests its keys or writes them with dots.
const Node* at_path(const Node& node, string_view path) {
    if (const Node* whole = find(node, path)) return whole;
    const auto dot = path.find('.');
    const Node* within = dot == string_view::npos ? nullptr : find(node, path.substr(0, dot));
    return within == nullptr ? nullptr : at_path(*within, path.substr(dot + 1));
}

/// Returns the choice of the list of defaults for a group: "optuna" of "override hydra/sweeper: optuna".
string chosen_default(const Node& root, string_view group) {
    const Node* list = find(root, "defaults");
    if (list == nullptr) return {};
    for (const Node& item : list->items)
        for (const Entry& entry : item.entries) {
            string_view key = entry.key;
            if (key.starts_with("override ")) key.remove_prefix(9);
            while (key.starts_with(' ') || key.starts_with('/')) key.remove_prefix(1);
            if (key == group) return text_of(&entry.value);
        }
    return {};
}

bool is_optuna_class(const Node* target) { return text_of(target).find("OptunaSweeper") != string::npos; }

/// Returns the map of the sweeper: below hydra.sweeper, or the file itself if it is one of the group hydra/sweeper.
const Node* sweeper_of(const Node& root) {
    if (root.kind != Node::Kind::map) return nullptr;
    const Node* sweeper = at_path(root, "hydra.sweeper");
    if (sweeper != nullptr && sweeper->kind == Node::Kind::map) return sweeper;
    return is_optuna_class(find(root, "_target_")) ? &root : nullptr;
}

class HydraOptuna {
   public:
    HydraOptuna(const Reading& reading, const Node& root)
        : reading_(reading), builder_(reading.builder), root_(root), sweeper_(*sweeper_of(root)) {}

    void read() {
        if (!is_optuna()) return;
        reading_.leave_out_others(sweeper_,
                                  {"_target_", "defaults", "sampler", "direction", "study_name", "n_trials", "n_jobs",
                                   "params", "search_space", "custom_search_space"},
                                  "the sweeper");
        builder_.study.name = as_study_name(text_of(find(sweeper_, "study_name")));
        objective();
        if (const Node* custom = find(sweeper_, "custom_search_space");
            custom != nullptr && custom->kind != Node::Kind::null)
            reading_.error(custom->location,
                           "the space is built by a function of Python (custom_search_space), which is not read: write "
                           "its parameters in 'params'");
        if (const Node* params = find(sweeper_, "params"))
            for (const Entry& entry : params->entries) override_of(entry);
        if (const Node* space = find(sweeper_, "search_space"))
            for (const Entry& entry : space->entries) distribution_of(entry);
        if (builder_.study.space.empty() && reading_.diagnostics.ok())
            return reading_.error(
                sweeper_.location,
                "nothing varies: 'params' needs parameters such as lr: tag(log, interval(1e-5, 0.1)); "
                "those of the command line belong there, too");
        command();
        budget();
        choose_epochs(builder_, 0);
        sampler();
    }

   private:
    bool is_optuna() {
        const string chosen = chosen_default(root_, "hydra/sweeper");
        const Node* target = find(sweeper_, "_target_");
        bool optuna = chosen == "optuna" || is_optuna_class(target);
        if (chosen.empty() && target == nullptr)
            for (const char* key : {"n_trials", "direction", "sampler", "search_space", "n_jobs", "study_name"})
                optuna = optuna || find(sweeper_, key) != nullptr;
        if (!optuna)
            reading_.error(sweeper_.location,
                           "only configurations of Hydra's Optuna sweeper are read, and this one is for " +
                               (!chosen.empty()     ? "'" + printable(chosen) + "'"
                                : target != nullptr ? "'" + printable(text_of(target)) + "'"
                                                    : string("its basic sweeper, as far as it says")) +
                               "; with 'defaults: [override hydra/sweeper: optuna]' its params are read as Optuna's");
        return optuna;
    }

    void objective() {
        Objective& objective = builder_.study.objective;
        const Node* named = find(root_, "optimized_metric");
        const string name = named == nullptr ? "" : text_of(named);
        const string metric = name.empty() ? "result" : metric_name_of(name);
        std::vector<Direction> directions;
        const Node* direction = find(sweeper_, "direction");
        const auto add = [&](const Node& node) {
            string word = text_of(&node);
            word = word.substr(word.rfind('.') == string::npos ? 0 : word.rfind('.') + 1);  // Direction.minimize
            if (word != "minimize" && word != "maximize")
                reading_.error(node.location, "'direction' is minimize, maximize or a list of these");
            directions.push_back(word == "maximize" ? Direction::maximize : Direction::minimize);
        };
        if (direction != nullptr && direction->kind == Node::Kind::list)
            for (const Node& item : direction->items) add(item);
        else if (direction != nullptr && direction->kind == Node::Kind::scalar)
            add(*direction);
        if (directions.empty()) directions.push_back(Direction::minimize);
        const bool several = directions.size() > 1;
        objective = {several ? metric + "_1" : metric, directions[0], Objective::At::last};
        string names = objective.metric, print = objective.metric + "={value}";
        for (std::size_t i = 1; i < directions.size(); ++i) {
            objective.further.push_back({metric + "_" + std::to_string(i + 1), directions[i]});
            names += ", " + objective.further.back().metric;
            print += " " + objective.further.back().metric + "={...}";
        }
        builder_.remark(
            "objective", direction == nullptr ? study::Location{} : direction->location,
            "Hydra takes the return value of the script's main function, which is not printed. Let it print " + names +
                " before it returns: print(f\"" + print + "\", flush=True)");
    }

    // ---- Parameters.

    /// Adds an argument KEY={parameter} for the last parameter of the space.
    void add_argument(const string& key) {
        arguments_.push_back(without_placeholders(key) + "={" + builder_.study.space.back().name + "}");
    }

    /// Returns the name of an override without its prefix: + and ++ add a key, ~ removes one.
    static string name_of(string_view key) {
        while (key.starts_with('+')) key.remove_prefix(1);
        return string(key);
    }

    void override_of(const Entry& entry) {
        const Node& node = entry.value;
        const string name = name_of(entry.key);
        if (node.kind == Node::Kind::map)
            return reading_.error(node.location,
                                  "'" + printable(entry.key) +
                                      "' must be a text such as choice(a, b) or interval(0.1, 0.9); a key "
                                      "within a group is written with a dot: group.key");
        HydraSweep sweep;
        if (node.kind == Node::Kind::scalar && node.plain)
            sweep = parse_hydra_sweep(node.text);
        else if (node.kind == Node::Kind::scalar && node.text.find('(') != string::npos)
            sweep = parse_hydra_sweep(node.text);  // quoted since YAML has a meaning for some of its characters
        else
            sweep.choices = {node.kind == Node::Kind::null   ? Value(string("null"))
                             : node.kind == Node::Kind::list ? Value(literal(node, LiteralStyle::python))
                                                             : hydra_element(node.text, true)};
        if (!sweep.problem.empty())
            return reading_.error(node.location, "'" + printable(entry.key) + "': " + sweep.problem);
        const auto before = builder_.study.space.size();
        if (sweep.kind == HydraSweep::Kind::value) {
            arguments_.push_back(without_placeholders(entry.key) + "=" +
                                 without_placeholders(to_text(sweep.choices[0])));
            return;
        }
        const string problem = add(name, sweep, entry.location);
        if (!problem.empty() || builder_.study.space.size() == before)
            return reading_.error(node.location, "'" + printable(entry.key) + "': " + problem);
        add_argument(entry.key);
    }

    string add(const string& name, const HydraSweep& sweep, const study::Location& location) {
        if (sweep.kind == HydraSweep::Kind::choice) {
            Dimension dimension;
            dimension.name = name;
            dimension.kind = Kind::categorical;
            for (const Value& choice : sweep.choices)
                if (std::find(dimension.choices.begin(), dimension.choices.end(), choice) == dimension.choices.end())
                    dimension.choices.push_back(choice);
            if (dimension.choices.empty()) return "there are no values";
            builder_.add(std::move(dimension), location);
            return {};
        }
        const Range range{sweep.low, sweep.high, sweep.log, {}, sweep.whole};
        if (sweep.kind == HydraSweep::Kind::range && !sweep.log && sweep.low <= sweep.high)
            return add_stepped(builder_, name, range, sweep.step, location);
        return add_range(builder_, name, range, location);
    }

    /// Reads an entry of the older key search_space: {type: float, low: 0, high: 1, step: 0.1, log: false}.
    void distribution_of(const Entry& entry) {
        const Node& node = entry.value;
        const string type = text_of(find(node, "type"));
        HydraSweep sweep;
        if (const Node* choices = find(node, "choices"); choices != nullptr && type == "categorical") {
            sweep.kind = HydraSweep::Kind::choice;
            for (const Node& item : choices->items)
                sweep.choices.push_back(item.kind == Node::Kind::scalar ? hydra_element(item.text, !item.plain)
                                        : item.kind == Node::Kind::null ? Value(string("null"))
                                                                        : Value(literal(item, LiteralStyle::python)));
        } else if (type == "float" || type == "int") {
            const Node *low = find(node, "low"), *high = find(node, "high"), *step = find(node, "step");
            const Node* log = find(node, "log");
            sweep.low = low == nullptr ? std::nan("") : number_of(*low).value_or(std::nan(""));
            sweep.high = high == nullptr ? std::nan("") : number_of(*high).value_or(std::nan(""));
            sweep.log = log != nullptr && flag_of(*log).value_or(false);
            sweep.whole = type == "int";
            const auto width = step == nullptr ? std::nullopt : number_of(*step);
            sweep.kind = width && *width > 0 ? HydraSweep::Kind::range : HydraSweep::Kind::interval;
            sweep.step = width.value_or(1);
        } else {
            return reading_.error(node.location, "'" + printable(entry.key) +
                                                     "' has type: float or int with low and high, or type: categorical "
                                                     "with choices");
        }
        const auto before = builder_.study.space.size();
        const string problem = add(name_of(entry.key), sweep, entry.location);
        if (!problem.empty() || builder_.study.space.size() == before)
            return reading_.error(node.location, "'" + printable(entry.key) + "': " + problem);
        add_argument(entry.key);
    }

    // ---- The command, the budget and the sampler.

    void command() {
        std::vector<string> command{"python3", "train.py"};
        command.insert(command.end(), arguments_.begin(), arguments_.end());
        if (at_path(root_, "hydra.mode") != nullptr) command.emplace_back("hydra.mode=RUN");
        command.emplace_back("hydra.run.dir={folder}/hydra");
        builder_.script().command = std::move(command);
        builder_.script().metrics.emplace();
        builder_.remark(
            "worker", 0,
            "replace train.py by the script, which is run once for each trial, without --multirun, with its "
            "parameters as overrides, and writes Hydra's files into the trial's folder. Add overrides that "
            "you give on the command line, and the group of this file if it is not the main configuration, "
            "such as hparams_search=NAME");
    }

    void budget() {
        Study& study = builder_.study;
        study.budget.trials = 20;  // the plugin's default
        if (const Node* node = find(sweeper_, "n_trials"); node != nullptr && node->kind != Node::Kind::null) {
            const auto number = number_of(*node);
            if (!number || !(*number >= 1))
                return reading_.error(node->location, "'n_trials' must be a whole number of at least 1");
            study.budget.trials = static_cast<std::int64_t>(std::min(*number, 1e6));
        }
        const Node* jobs = find(sweeper_, "n_jobs");
        if (const auto number = jobs == nullptr ? std::nullopt : number_of(*jobs); number && *number >= 1) {
            study.resources.parallel = static_cast<std::int64_t>(std::min(*number, 1e4));
            builder_.comment("resources", "parallel: auto runs as many trials at once as fit");
        }
    }

    void sampler() {
        Study& study = builder_.study;
        study.sampler = {"auto", {}};
        const Node* node = find(sweeper_, "sampler");
        string name = node == nullptr ? "" : text_of(find(*node, "_target_"));
        if (name.empty()) name = chosen_default(root_, "hydra/sweeper/sampler");
        if (name.empty()) name = chosen_default(sweeper_, "sampler");
        name = name.substr(name.rfind('.') == string::npos ? 0 : name.rfind('.') + 1);
        const study::Location location = node == nullptr ? study::Location{} : node->location;
        const Node* seed = node == nullptr ? nullptr : find(*node, "seed");
        if (const auto number = seed == nullptr ? std::nullopt : number_of(*seed);
            number && *number >= 0 && *number < 9e15 && is_whole(*seed))
            study.seed = static_cast<std::uint64_t>(*number);
        const auto is = [&](std::initializer_list<const char*> names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (is({"RandomSampler", "random"})) return use_random(builder_);
        if (is({"GridSampler", "grid"})) return use_grid(reading_, location);
        if (is({"QMCSampler"})) study.sampler = {"sobol", {}};
        if (is({"CmaEsSampler", "cmaes"}) && study.objective.further.empty()) study.sampler = {"cmaes", {}};
        const bool known = is({"", "TPESampler", "tpe", "GPSampler", "BoTorchSampler", "QMCSampler", "CmaEsSampler",
                               "cmaes", "NSGAIISampler", "nsgaii", "MOTPESampler", "motpe"});
        if (!known)
            builder_.remark("sampler", location, "the sampler '" + name + "' has no counterpart here: auto is used");
        else if (study.sampler.type == "auto" && !name.empty())
            builder_.comment("sampler", name +
                                            " in the original; auto is gp, or tpe for long studies and those with "
                                            "stopping rules");
    }

    const Reading& reading_;
    StudyBuilder& builder_;
    const Node& root_;
    const Node& sweeper_;
    std::vector<string> arguments_;
};

bool is_hydra(const Node& root) { return sweeper_of(root) != nullptr; }

void read_hydra(const Reading& reading, const Node& root) { HydraOptuna(reading, root).read(); }

}  // namespace

const Format hydra_optuna{"hydra", "a configuration of Hydra's Optuna sweeper", "'hydra' with 'sweeper'", is_hydra,
                          read_hydra};

}  // namespace hpo::importing
