// Sweeps of Weights & Biases: what their agent would run, as an unchanged script.
#include <algorithm>
#include <array>
#include <cmath>

#include "orchestrator/exchange/arguments.hpp"
#include "orchestrator/exchange/sources.hpp"
#include "orchestrator/exchange/wandb_parameters.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::exchange {

namespace {

using std::string;
using std::string_view;
using study::Entry;
using study::find;
using study::Node;
using study::printable;

class Sweep {
   public:
    Sweep(const Reading& reading, const Node& root) : reading_(reading), draft_(reading.draft), root_(root) {}

    void read() {
        reading_.leave_out_others(root_,
                                  {"program", "command", "method", "metric", "parameters", "early_terminate", "run_cap",
                                   "name", "description", "project", "entity", "controller"},
                                  "the sweep");
        names();
        look_at_command();
        metric();
        const Node* all = find(root_, "parameters");
        if (all->kind != Node::Kind::map || all->entries.empty())
            return reading_.error(all->place, "'parameters' must be a map of names to what they may be");
        SweepParameters parameters(reading_, words_);
        for (const Entry& entry : all->entries) arguments_.push_back(parameters.read(entry));
        if (draft_.study.space.empty()) draft_.remark("", all->place, "nothing varies: this is one trial");
        command();
        early_terminate();
        settle_steps(draft_, steps_);
        method();
    }

   private:
    void names() {
        for (const char* key : {"name", "project"})
            if (const string name = as_study_name(text_of(find(root_, key))); draft_.study.name.empty())
                draft_.study.name = name;
        draft_.description = text_of(find(root_, "description"));
    }

    void look_at_command() {
        const Node* list = find(root_, "command");
        if (list == nullptr) return;
        for (const Node& item : list->items) {
            json_file_ = json_file_ || item.text == "${args_json_file}";
            words_ = json_file_ || item.text == "${args_json}" ? Words::json : words_;
        }
    }

    void metric() {
        Objective& objective = draft_.study.objective;
        objective = {"val_loss", Direction::minimize, Objective::At::best};
        const Node* node = find(root_, "metric");
        const string name = node == nullptr ? "" : text_of(find(*node, "name"));
        study::Place place = node == nullptr ? study::Place{} : node->place;
        if (name.empty()) {
            draft_.remark("objective", place,
                          "the sweep names no metric: write for val_loss what the script reports, and the direction");
        } else {
            const string fit = metric_name_of(name);
            objective.metric = fit;
            place = find(*node, "name")->place;
            if (fit != name) draft_.remark("objective", place, "the metric '" + name + "' is called " + fit + " here");
        }
        draft_.remark("objective", place,
                      "each wandb.log() that holds " + objective.metric +
                          " is a step. A script that prints it instead needs worker.metrics in place of worker.shim");
        if (node == nullptr) return;
        const string goal = text_of(find(*node, "goal"));
        const auto is = [&](std::initializer_list<const char*> words) {
            return std::find(words.begin(), words.end(), goal) != words.end();
        };
        if (is({"maximize", "maximum", "maximise", "max"}))
            objective.direction = Direction::maximize;
        else if (!goal.empty() && !is({"minimize", "minimum", "minimise", "min"}))
            reading_.error(find(*node, "goal")->place, "'goal' is minimize or maximize, found " + printable(goal));
        if (const Node* target = find(*node, "target"))
            draft_.remark("objective", target->place,
                          "no study ends at a target value: budget.patience ends it after so many trials without a "
                          "better one, Ctrl-C or hpo stop at once");
        reading_.leave_out_others(*node, {"name", "goal", "target"}, "'metric'");
    }

    void command() {
        std::vector<string> words;
        const Node* list = find(root_, "command");
        if (list != nullptr && (list->kind != Node::Kind::list || list->items.empty()))
            return reading_.error(list->place,
                                  "'command' must be a list such as [\"${env}\", python, \"${program}\", \"${args}\"]");
        std::vector<Node> usual(4);
        for (std::size_t i = 0; i < usual.size(); ++i) {
            usual[i].kind = Node::Kind::scalar;
            usual[i].text = std::array{"${env}", "${interpreter}", "${program}", "${args}"}[i];
        }
        for (const Node& item : list == nullptr ? usual : list->items) word(words, item);
        // /usr/bin/env finds a program, which hpo does itself, or sets variables first.
        if (words.size() > 1 && words[0] == "/usr/bin/env" && words[1].find('=') == string::npos &&
            !words[1].starts_with('-'))
            words.erase(words.begin());
        draft_.study.command = std::move(words);
        draft_.study.metrics.emplace();
        draft_.study.shim = "wandb";
        draft_.remark(
            "worker", list == nullptr ? study::Place{} : list->place,
            "shim: wandb gives the script a stand-in for wandb, whose config holds the trial's parameters and "
            "whose log reaches hpo; nothing is sent to W&B. Without the line it imports wandb itself");
    }

    void word(std::vector<string>& words, const Node& item) {
        const auto is = [&](string_view macro) { return item.text == macro; };
        if (item.kind != Node::Kind::scalar) return reading_.error(item.place, "'command' must be a list of texts");
        if (is("${env}")) return words.push_back("/usr/bin/env");
        if (is("${interpreter}")) return words.push_back("python3");
        if (is("${program}")) return words.push_back(program());
        if (is("${args}") || is("${args_no_hyphens}") || is("${args_no_boolean_flags}")) {
            for (const Argument& argument : arguments_) {
                if (is("${args_no_boolean_flags}") && argument.flag) continue;
                words.push_back((is("${args_no_hyphens}") ? "" : "--") + without_placeholders(argument.name) + "=" +
                                argument.text);
            }
            if (is("${args_no_boolean_flags}")) flags(words, item);
            return;
        }
        if (is("${args_json_file}")) {
            draft_.remark("worker", item.place,
                          "{params_file} is JSON of all parameters, as the original's; those within a parameter stand "
                          "there by their dotted names");
            return words.push_back("{params_file}");
        }
        if (is("${args_json}")) {
            string json;
            for (const Argument& argument : arguments_)
                json += (json.empty() ? "" : ", ") + without_placeholders(quoted_text(argument.name, Words::json)) +
                        ": " + argument.json;
            return words.push_back("{" + json + "}");
        }
        const string text = without_variables(item);
        if (text.starts_with("${") && text.ends_with("}"))
            draft_.remark("worker", item.place, "the macro " + text + " is not known: it stands as it is");
        words.push_back(without_placeholders(text));
    }

    /// ${envvar:NAME} becomes NAME.
    string without_variables(const Node& item) {
        constexpr string_view begin = "${envvar:";
        string text = item.text;
        for (auto at = text.find(begin); at != string::npos; at = text.find(begin, at)) {
            const auto end = text.find('}', at);
            if (end == string::npos) break;
            const string name = text.substr(at + begin.size(), end - at - begin.size());
            draft_.remark("worker", item.place,
                          "variables of the environment do not become arguments: write the value of " + name +
                              " in place of " + name + "; the script itself finds the variable in its environment");
            text.replace(at, end + 1 - at, name);
            at += name.size();
        }
        return text;
    }

    /// --name while it is true, nothing while it is false: by a parameter that is active with it.
    void flags(std::vector<string>& words, const Node& item) {
        for (const Argument& argument : arguments_) {
            if (!argument.flag) continue;
            if (argument.constant) {
                if (argument.on) words.push_back("--" + without_placeholders(argument.name));
                continue;
            }
            const auto flag = std::find_if(draft_.study.space.begin(), draft_.study.space.end(),
                                           [&](const Dimension& d) { return d.name == argument.flag_name; });
            Dimension shown;
            shown.name = flag->name + "_flag";
            shown.kind = Kind::categorical;
            shown.choices = {"--" + argument.name};
            for (const Value& choice : flag->choices)
                if (choice == Value(true) || choice == Value(string("True"))) shown.when = {{flag->name, {choice}}};
            if (shown.when.empty()) continue;  // it is never on
            // An option right before an argument that is left out would go with it.
            auto at = words.end();
            while (at != words.begin() && std::prev(at)->starts_with('-') &&
                   std::prev(at)->find_first_of("={") == string::npos)
                --at;
            words.insert(at, "{" + draft_.add(std::move(shown), item.place) + "}");
        }
    }

    string program() {
        const string name = text_of(find(root_, "program"));
        if (!name.empty()) return without_placeholders(name);
        draft_.remark("worker", 0,
                      "the sweep names no program (it may have been given a function): write the script for train.py");
        return "train.py";
    }

    void early_terminate() {
        const Node* node = find(root_, "early_terminate");
        if (node == nullptr || node->kind == Node::Kind::null) return;
        const string type = text_of(find(*node, "type"));
        if (type != "hyperband") {
            draft_.remark("stopping", node->place,
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
        if (const double most = option("max_iter", 0); most >= 1) {
            steps_ = static_cast<std::int64_t>(most);
            if (find(*node, "min_iter") == nullptr)
                grace = std::max(1.0, std::floor(most / std::pow(eta, option("s", 1))));
        }
        add_halving(draft_, static_cast<std::int64_t>(grace), eta, node->place, "hyperband");
        if (const Node* strict = find(*node, "strict"))
            draft_.remark("stopping", strict->place, "'strict' is left out: asha keeps to its places at every rung");
        reading_.leave_out_others(*node, {"type", "min_iter", "max_iter", "s", "eta", "strict"}, "'early_terminate'");
    }

    void method() {
        const Node* node = find(root_, "method");
        const Node* cap = find(root_, "run_cap");
        const string name = text_of(node);
        Study& study = draft_.study;
        study.sampler = {"auto", {}};
        if (name == "random") use_random(draft_);
        if (name == "grid") use_grid(reading_, node->place);
        if (name == "bayes")
            draft_.comment("sampler",
                           "bayes there; auto here: gp, or tpe for long studies and those with stopping rules");
        if (!name.empty() && name != "grid" && name != "random" && name != "bayes")
            draft_.remark("sampler", node->place, "the method '" + name + "' is not known here: auto");
        if (cap != nullptr) {
            const auto number = number_of(*cap);
            if (!number || !(*number >= 1))
                return reading_.error(cap->place, "'run_cap' must be a whole number of at least 1");
            study.budget.trials = static_cast<std::int64_t>(std::min(*number, 1e6));
        } else if (study.budget.trials == Budget{}.trials && name != "grid") {
            draft_.remark("budget", 0,
                          "the sweep has no run_cap and goes on until it is stopped: here " +
                              std::to_string(study.budget.trials) + " trials, and more with hpo run --trials");
        }
    }

    const Reading& reading_;
    Draft& draft_;
    const Node& root_;
    std::vector<Argument> arguments_;
    Words words_ = Words::python;
    bool json_file_ = false;
    std::int64_t steps_ = 0;
};

}  // namespace

const Node& sweep_within(const Node& root) {
    const Node* within =
        root.kind == Node::Kind::map && find(root, "parameters") == nullptr ? find(root, "sweep") : nullptr;
    return within != nullptr && is_wandb_sweep(*within) ? *within : root;
}

bool is_wandb_sweep(const Node& root) {
    if (root.kind != Node::Kind::map || find(root, "parameters") == nullptr) return false;
    return find(root, "method") != nullptr || find(root, "program") != nullptr || find(root, "command") != nullptr ||
           find(root, "metric") != nullptr;
}

void read_wandb_sweep(const Reading& reading, const Node& root) { Sweep(reading, root).read(); }

}  // namespace hpo::exchange
