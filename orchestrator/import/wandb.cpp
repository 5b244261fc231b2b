// Reads sweeps of Weights & Biases. The command that their agent would run becomes an unchanged script.
#include <algorithm>
#include <array>
#include <cmath>

#include "orchestrator/import/arguments.hpp"
#include "orchestrator/import/reading.hpp"
#include "orchestrator/import/registry.hpp"
#include "orchestrator/import/wandb_parameters.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using std::string;
using std::string_view;
using study::Entry;
using study::find;
using study::Node;
using study::printable;

class Sweep {
   public:
    Sweep(const Reading& reading, const Node& root) : reading_(reading), builder_(reading.builder), root_(root) {}

    void read() {
        reading_.leave_out_others(root_,
                                  {"program", "command", "method", "metric", "parameters", "early_terminate", "run_cap",
                                   "name", "description", "project", "entity", "controller"},
                                  "the sweep");
        names();
        builder_.script().shim = "wandb";
        read_style();
        metric();
        const Node* all = find(root_, "parameters");
        if (all->kind != Node::Kind::map || all->entries.empty())
            return reading_.error(all->location, "'parameters' must be a map of names to their values");
        SweepParameters parameters(reading_, style_);
        for (const Entry& entry : all->entries) arguments_.push_back(parameters.read(entry));
        if (builder_.study.space.empty()) builder_.remark("", all->location, "nothing varies: this is one trial");
        command();
        early_terminate();
        choose_epochs(builder_, 0);  // a run of W&B ends with its script, also beyond max_iter
        method();
    }

   private:
    void names() {
        for (const char* key : {"name", "project"})
            if (const string name = as_study_name(text_of(find(root_, key))); builder_.study.name.empty())
                builder_.study.name = name;
        builder_.description = text_of(find(root_, "description"));
    }

    /// Determines the form in which the command receives its parameters.
    void read_style() {
        const Node* list = find(root_, "command");
        if (list == nullptr) return;
        for (const Node& item : list->items) {
            json_file_ = json_file_ || item.text == "${args_json_file}";
            style_ = json_file_ || item.text == "${args_json}" ? LiteralStyle::json : style_;
        }
    }

    void metric() {
        Objective& objective = builder_.study.objective;
        objective = {"val_loss", Direction::minimize, Objective::At::best};
        const Node* node = find(root_, "metric");
        const string name = node == nullptr ? "" : text_of(find(*node, "name"));
        study::Location location = node == nullptr ? study::Location{} : node->location;
        if (name.empty()) {
            builder_.remark("objective", location,
                            "the sweep names no metric: replace val_loss by the metric that the script reports, and "
                            "check the direction");
        } else {
            location = find(*node, "name")->location;
            objective.metric = metric_name_of(without_summary(name, text_of(find(*node, "goal")), location));
            if (objective.metric != name)
                builder_.remark("objective", location,
                                "the metric '" + name + "' is called " + objective.metric + " here");
        }
        builder_.remark("objective", location,
                        "each wandb.log() with " + objective.metric +
                            " is a step. A script that prints it instead needs worker.metrics in place of worker.shim");
        if (node == nullptr) return;
        const string goal = text_of(find(*node, "goal"));
        const auto is = [&](std::initializer_list<const char*> arguments) {
            return std::find(arguments.begin(), arguments.end(), goal) != arguments.end();
        };
        if (is({"maximize", "maximum", "maximise", "max"}))
            objective.direction = Direction::maximize;
        else if (!goal.empty() && !is({"minimize", "minimum", "minimise", "min"}))
            reading_.error(find(*node, "goal")->location, "'goal' is minimize or maximize, found " + printable(goal));
        if (const Node* target = find(*node, "target"))
            builder_.remark("objective", target->location,
                            "no study ends at a target value: budget.patience ends it after a number of trials without "
                            "an improvement, hpo stop ends it at once");
        reading_.leave_out_others(*node, {"name", "goal", "target"}, "'metric'");
    }

    /// Returns the name without an ending such as .max, by which W&B takes the best of all numbers of a metric.
    string without_summary(const string& name, const string& goal, const study::Location& location) {
        const auto dot = name.rfind('.');
        const string summary = dot == string::npos || dot == 0 ? "" : name.substr(dot + 1);
        if (summary == "last")
            builder_.study.objective.at = Objective::At::last;
        else if (summary == "mean" || (summary == "max" && !goal.starts_with("max")) ||
                 (summary == "min" && goal.starts_with("max")))
            reading_.error(location, "the value of a trial is its best or its last number here: '" + printable(name) +
                                         "' would be the " + summary + " with the goal " +
                                         (goal.empty() ? "minimize" : printable(goal)) + "; name the metric without ." +
                                         summary);
        else if (summary != "max" && summary != "min")
            return name;
        return name.substr(0, dot);
    }

    void command() {
        std::vector<string> arguments;
        const Node* list = find(root_, "command");
        if (list != nullptr && (list->kind != Node::Kind::list || list->items.empty()))
            return reading_.error(list->location,
                                  "'command' must be a list such as [\"${env}\", python, \"${program}\", \"${args}\"]");
        std::vector<Node> default_items(4);
        for (std::size_t i = 0; i < default_items.size(); ++i) {
            default_items[i].kind = Node::Kind::scalar;
            default_items[i].text = std::array{"${env}", "${interpreter}", "${program}", "${args}"}[i];
        }
        for (const Node& item : list == nullptr ? default_items : list->items) word(arguments, item);
        // /usr/bin/env is only needed to set variables, since hpo finds programs itself.
        if (arguments.size() > 1 && arguments[0] == "/usr/bin/env" && arguments[1].find('=') == string::npos &&
            !arguments[1].starts_with('-'))
            arguments.erase(arguments.begin());
        builder_.script().command = std::move(arguments);
        builder_.script().metrics.emplace();
        builder_.remark(
            "worker", list == nullptr ? study::Location{} : list->location,
            "shim: wandb gives the script a stand-in for wandb, whose config has the trial's parameters and whose log "
            "reports to hpo; nothing is sent to W&B. Without this line it imports wandb itself");
    }

    void word(std::vector<string>& arguments, const Node& item) {
        const auto is = [&](string_view macro) { return item.text == macro; };
        if (item.kind != Node::Kind::scalar) return reading_.error(item.location, "'command' must be a list of texts");
        if (is("${env}")) return arguments.push_back("/usr/bin/env");
        if (is("${interpreter}")) return arguments.push_back("python3");
        if (is("${program}")) return arguments.push_back(program());
        if (is("${args}") || is("${args_no_hyphens}") || is("${args_no_boolean_flags}")) {
            for (const Argument& argument : arguments_) {
                if (is("${args_no_boolean_flags}") && argument.flag) continue;
                arguments.push_back((is("${args_no_hyphens}") ? "" : "--") + without_placeholders(argument.name) + "=" +
                                    argument.text);
            }
            if (is("${args_no_boolean_flags}")) flags(arguments, item);
            return;
        }
        if (is("${args_json_file}")) {
            builder_.remark(
                "worker", item.location,
                "{params_file} is a JSON file with all parameters, as in the original, but nested ones have dotted "
                "names there");
            return arguments.push_back("{params_file}");
        }
        if (is("${args_json}")) {
            string json;
            for (const Argument& argument : arguments_)
                json += (json.empty() ? "" : ", ") +
                        without_placeholders(quoted_text(argument.name, LiteralStyle::json)) + ": " + argument.json;
            return arguments.push_back("{" + json + "}");
        }
        const string text = without_variables(item);
        if (text.starts_with("${") && text.ends_with("}"))
            builder_.remark("worker", item.location, "the macro " + text + " is not known: it is kept unchanged");
        arguments.push_back(without_placeholders(text));
    }

    /// Replaces ${envvar:NAME} by NAME, with a remark.
    string without_variables(const Node& item) {
        constexpr string_view begin = "${envvar:";
        string text = item.text;
        for (auto at = text.find(begin); at != string::npos; at = text.find(begin, at)) {
            const auto end = text.find('}', at);
            if (end == string::npos) break;
            const string name = text.substr(at + begin.size(), end - at - begin.size());
            builder_.remark("worker", item.location,
                            "environment variables cannot be used in arguments: replace " + name +
                                " by its value; the script itself still has the variable in its environment");
            text.replace(at, end + 1 - at, name);
            at += name.size();
        }
        return text;
    }

    /// Adds an argument for each flag that is --name if the flag is true and left out otherwise. A flag that varies
    /// needs a parameter that depends on it.
    void flags(std::vector<string>& arguments, const Node& item) {
        for (const Argument& argument : arguments_) {
            if (!argument.flag) continue;
            if (argument.constant) {
                if (argument.on) arguments.push_back("--" + without_placeholders(argument.name));
                continue;
            }
            const auto flag = std::find_if(builder_.study.space.begin(), builder_.study.space.end(),
                                           [&](const Dimension& d) { return d.name == argument.flag_name; });
            Dimension shown;
            shown.name = flag->name + "_flag";
            shown.kind = Kind::categorical;
            shown.choices = {"--" + argument.name};
            for (const Value& choice : flag->choices)
                if (choice == Value(true) || choice == Value(string("True"))) shown.when = {{flag->name, {choice}}};
            if (shown.when.empty()) continue;  // a condition that is always false
            // The argument must not follow an option, which would be left out together with it.
            auto position = arguments.end();
            while (position != arguments.begin() && std::prev(position)->starts_with('-') &&
                   std::prev(position)->find_first_of("={") == string::npos)
                --position;
            arguments.insert(position, "{" + builder_.add(std::move(shown), item.location) + "}");
        }
    }

    string program() {
        const string name = text_of(find(root_, "program"));
        if (!name.empty()) return without_placeholders(name);
        builder_.remark("worker", 0,
                        "the sweep names no program (it may run a function): replace train.py by the script");
        return "train.py";
    }

    void early_terminate() {
        const Node* node = find(root_, "early_terminate");
        if (node == nullptr || node->kind == Node::Kind::null) return;
        const string type = text_of(find(*node, "type"));
        if (type != "hyperband") {
            builder_.remark("stopping", node->location,
                            "early termination by '" + type + "' is not known: see the rules plateau, median and asha");
            return;
        }
        const auto option = [&](const char* name, double otherwise) {
            const Node* given = find(*node, name);
            const double number = given == nullptr ? otherwise : number_of(*given).value_or(otherwise);
            return number >= 0 && number <= 1e6 ? number : otherwise;
        };
        const double eta = std::max(option("eta", 3), 1.5);
        double grace = option("min_iter", 1);
        if (const double max_steps = option("max_iter", 0); max_steps >= 1) {
            if (find(*node, "min_iter") == nullptr)
                grace = std::max(1.0, std::floor(max_steps / std::pow(eta, option("s", 1))));
        }
        add_halving(builder_, static_cast<std::int64_t>(grace), eta, node->location, "hyperband");
        if (const Node* strict = find(*node, "strict"))
            builder_.remark("stopping", strict->location,
                            "'strict' is left out: asha always limits the promotions of a rung");
        reading_.leave_out_others(*node, {"type", "min_iter", "max_iter", "s", "eta", "strict"}, "'early_terminate'");
    }

    void method() {
        const Node* node = find(root_, "method");
        const Node* cap = find(root_, "run_cap");
        const string name = text_of(node);
        Study& study = builder_.study;
        study.sampler = {"auto", {}};
        if (name == "random") use_random(builder_);
        if (name == "grid") use_grid(reading_, node->location);
        if (name == "bayes")
            builder_.comment(
                "sampler", "bayes in the original; auto is gp, or tpe for long studies and those with stopping rules");
        if (!name.empty() && name != "grid" && name != "random" && name != "bayes")
            builder_.remark("sampler", node->location, "the method '" + name + "' is not known here: auto is used");
        if (cap != nullptr) {
            const auto number = number_of(*cap);
            if (!number || !(*number >= 1))
                return reading_.error(cap->location, "'run_cap' must be a whole number of at least 1");
            study.budget.trials = static_cast<std::int64_t>(std::min(*number, 1e6));
        } else if (study.budget.trials == Budget{}.trials && name != "grid") {
            builder_.remark("budget", 0,
                            "the sweep has no run_cap and runs until it is stopped: here " +
                                std::to_string(study.budget.trials) + " trials; hpo run --trials N runs more");
        }
    }

    const Reading& reading_;
    StudyBuilder& builder_;
    const Node& root_;
    std::vector<Argument> arguments_;
    LiteralStyle style_ = LiteralStyle::python;
    bool json_file_ = false;
};

bool has_keys_of_a_sweep(const Node& root) {
    if (root.kind != Node::Kind::map || find(root, "parameters") == nullptr) return false;
    return find(root, "method") != nullptr || find(root, "program") != nullptr || find(root, "command") != nullptr ||
           find(root, "metric") != nullptr;
}

/// Returns the map that holds the sweep: the one below 'sweep', as in configurations of a project, or the root.
const Node& sweep_within(const Node& root) {
    const Node* within =
        root.kind == Node::Kind::map && find(root, "parameters") == nullptr ? find(root, "sweep") : nullptr;
    return within != nullptr && has_keys_of_a_sweep(*within) ? *within : root;
}

bool is_sweep(const Node& root) { return has_keys_of_a_sweep(sweep_within(root)); }

void read_sweep(const Reading& reading, const Node& root) {
    const Node& sweep = sweep_within(root);
    if (&sweep != &root) reading.leave_out_others(root, {"sweep"}, "the file");
    Sweep(reading, sweep).read();
}

}  // namespace

const Format wandb_sweep{"wandb", "a W&B sweep", "'parameters' with 'method', 'program' or 'command'", is_sweep,
                         read_sweep};

}  // namespace hpo::importing
