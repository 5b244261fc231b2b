// Reads configurations of NNI's experiments, version 2 and version 1.
#include <algorithm>
#include <array>
#include <cmath>

#include "hpo/text.hpp"
#include "orchestrator/import/arguments.hpp"
#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/nni_space.hpp"
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

/// Gives the script a stand-in for nni, from which it gets its parameters and to which it reports.
void use_stand_in(StudyBuilder& builder, const study::Location& location) {
    builder.script().metrics.emplace();
    builder.script().shim = "nni";
    builder.remark(
        "worker", location,
        "shim: nni gives the script a stand-in for nni: get_next_parameter() returns the trial's parameters, and "
        "each report_intermediate_result() and the final one is a step. Without this line it imports nni itself");
}

class NniExperiment {
   public:
    NniExperiment(const Reading& reading, const Node& root)
        : reading_(reading), builder_(reading.builder), root_(root) {}

    void read() {
        reading_.leave_out_others(root_,
                                  {"experimentName",
                                   "searchSpace",
                                   "searchSpaceFile",
                                   "searchSpacePath",
                                   "trialCommand",
                                   "trialCodeDirectory",
                                   "trialGpuNumber",
                                   "trialConcurrency",
                                   "maxTrialNumber",
                                   "maxTrialNum",
                                   "maxExperimentDuration",
                                   "maxExecDuration",
                                   "maxTrialDuration",
                                   "tuner",
                                   "assessor",
                                   "advisor",
                                   "trainingService",
                                   "trainingServicePlatform",
                                   "trial",
                                   "localConfig",
                                   "authorName",
                                   "debug",
                                   "logLevel",
                                   "useAnnotation",
                                   "experimentWorkingDirectory",
                                   "tunerGpuIndices",
                                   "multiThread",
                                   "description",
                                   "logDir",
                                   "nniManagerIp"},
                                  "the experiment");
        builder_.study.name = as_study_name(text_of(find(root_, "experimentName")));
        builder_.description = text_of(find(root_, "description"));
        builder_.study.objective = {"default", Direction::maximize, Objective::At::last};
        space();
        command();
        resources();
        budget();
        algorithm("tuner", "builtinTunerName");
        algorithm("advisor", "builtinAdvisorName");
        assessor();
        choose_epochs(builder_, steps_);
    }

   private:
    /// Returns the value of the first of these keys that exists.
    const Node* first(std::initializer_list<const char*> keys) const {
        for (const char* key : keys)
            if (const Node* node = find(root_, key); node != nullptr && node->kind != Node::Kind::null) return node;
        return nullptr;
    }

    const Node* of_trial(const char* key) const {
        const Node* trial = find(root_, "trial");
        return trial == nullptr ? nullptr : find(*trial, key);
    }

    void space() {
        if (const Node* here = first({"searchSpace"})) return NniSpace(reading_).read(*here);
        const Node* file = first({"searchSpaceFile", "searchSpacePath"});
        if (file == nullptr) {
            if (flag_of(first({"useAnnotation"}) ? *first({"useAnnotation"}) : Node{}).value_or(false))
                reading_.error(first({"useAnnotation"})->location,
                               "the search space is in the script's annotations: write it to a search space file");
            else
                reading_.error({}, "no search space: 'searchSpace' or 'searchSpaceFile'");
            return;
        }
        const string name = text_of(file);
        const auto text = reading_.read_other(name);
        if (!text) return reading_.error(file->location, text.error().message);
        other_file(name, *text, file->location);
    }

    /// Reads the space from another file, whose name is shown in its errors and remarks.
    void other_file(const string& name, const string& text, const study::Location& location) {
        const string spaced = without_tabs(text);
        study::Diagnostics problems(name, spaced);
        const string previous = builder_.switch_file(name);
        if (const auto root = study::parse_yaml(spaced, 0, problems, study::Tags::core))
            NniSpace({problems, builder_, reading_.known, reading_.read_other}).read(*root);
        builder_.switch_file(previous);
        if (!problems.ok()) reading_.error(location, "the search space cannot be read:\n" + problems.text());
    }

    void command() {
        const Node* line = first({"trialCommand"});
        if (line == nullptr) line = of_trial("command");
        std::vector<string> arguments;
        if (line == nullptr || text_of(line).empty()) {
            builder_.remark("worker", 0, "there is no command for a trial: replace train.py by the script");
            arguments = {"python3", "train.py"};
        } else if (const auto words = split_shell_line(line->text)) {
            for (const string& word : *words) arguments.push_back(without_placeholders(word));
        } else {
            arguments = {"sh", "-c", without_placeholders(line->text)};
        }
        const Node* folder = first({"trialCodeDirectory"});
        if (folder == nullptr) folder = of_trial("codeDir");
        if (const string name = text_of(folder); !name.empty() && name != "." && name != "./") {
            arguments.insert(arguments.begin(), {"env", "--chdir=" + without_placeholders(name)});
            builder_.remark(
                "worker", folder->location,
                "a relative folder starts from the folder in which hpo run is called, not from this file's");
        }
        builder_.script().command = std::move(arguments);
        use_stand_in(builder_, line == nullptr ? study::Location{} : line->location);
    }

    void resources() {
        Study& study = builder_.study;
        if (const Node* node = first({"trialConcurrency"})) {
            const auto number = number_of(*node);
            if (number && *number >= 1 && *number <= 10000)
                study.resources.parallel = static_cast<std::int64_t>(*number);
            builder_.comment("resources", "parallel: auto runs as many trials at once as fit");
        }
        const Node* gpus = first({"trialGpuNumber"});
        if (gpus == nullptr) gpus = of_trial("gpuNum");
        if (const auto number = gpus == nullptr ? std::nullopt : number_of(*gpus)) {
            if (*number == 0) study.resources.backend = "cpu";
            if (*number > 1)
                builder_.remark("resources", gpus->location,
                                "a trial gets one GPU here instead of " + exact_number(*number) +
                                    "; set resources.trial.gpus for more");
        }
        const Node* service = first({"trainingService"});
        const Node* platform = service == nullptr ? first({"trainingServicePlatform"}) : find(*service, "platform");
        if (platform != nullptr && platform->text != "local")
            builder_.remark("resources", platform->location,
                            "hpo trains on this machine only, not on '" + platform->text + "'");
        const Node* local = service == nullptr ? first({"localConfig"}) : service;
        if (local != nullptr) devices(*local);
        reading_.leave_out_others(service == nullptr ? Node{} : *service,
                                  {"platform", "gpuIndices", "maxTrialNumberPerGpu", "useActiveGpu"},
                                  "'trainingService'");
    }

    void devices(const Node& local) {
        if (const Node* node = find(local, "gpuIndices")) {
            std::vector<string> found;
            string text = text_of(node);
            for (const Node& item : node->items) text += (text.empty() ? "" : ",") + item.text;
            for (string_view rest = text; !rest.empty();) {
                const auto comma = rest.find(',');
                const string word = as_study_name(rest.substr(0, comma));
                const bool digits =
                    !word.empty() && word.size() < 4 && word.find_first_not_of("0123456789") == string::npos;
                if (digits && std::find(found.begin(), found.end(), word) == found.end()) found.push_back(word);
                rest.remove_prefix(comma == string_view::npos ? rest.size() : comma + 1);
            }
            if (builder_.study.resources.backend != "cpu") builder_.study.resources.devices = std::move(found);
        }
        if (const Node* node = find(local, "maxTrialNumberPerGpu"))
            builder_.remark("resources", node->location,
                            "trials share a GPU as far as its memory allows, which hpo measures");
    }

    /// Reads a duration such as 30s, 10m, 1h or 2d, or a number of seconds. Returns nothing if it is neither.
    std::optional<double> seconds_of(const Node& node) const {
        string text = text_of(&node);
        double unit = 1;
        for (const auto& [letter, length] :
             {std::pair{'s', 1.0}, std::pair{'m', 60.0}, std::pair{'h', 3600.0}, std::pair{'d', 86400.0}})
            if (text.ends_with(letter)) {
                unit = length;
                text.pop_back();
                break;
            }
        Node number = node;
        number.plain = true;
        number.text = text;
        const auto count = number_of(number);
        if (!count || !(*count * unit >= 1) || !(*count * unit <= study::max_seconds)) return {};
        return *count * unit;
    }

    void budget() {
        Budget& budget = builder_.study.budget;
        if (const Node* node = first({"maxTrialNumber", "maxTrialNum"})) {
            const auto number = number_of(*node);
            if (!number || !(*number >= 1))
                return reading_.error(node->location, "the number of trials must be at least 1");
            budget.trials = static_cast<std::int64_t>(std::min(*number, 1e6));
        } else {
            builder_.remark("budget", 0,
                            "the experiment does not limit the number of trials: here " +
                                std::to_string(budget.trials) + "; hpo run --trials N runs more");
        }
        if (const Node* node = first({"maxExperimentDuration", "maxExecDuration"})) {
            budget.seconds = seconds_of(*node);
            if (!budget.seconds)
                builder_.remark("budget", node->location,
                                "'" + text_of(node) + "' is not a duration such as 1h: it is left out");
        }
        if (const Node* node = first({"maxTrialDuration"}))
            builder_.remark("budget", node->location,
                            "a trial's time is not limited here: resources.progress_timeout ends a trial without "
                            "progress, budget.epochs one with too many steps");
    }

    [[nodiscard]] static double option(const Node& node, const char* name, double otherwise) {
        const Node* arguments = find(node, "classArgs");
        const Node* given = arguments == nullptr ? nullptr : find(*arguments, name);
        const double number = given == nullptr ? otherwise : number_of(*given).value_or(otherwise);
        return number >= 0 && number <= 1e6 ? number : otherwise;
    }

    void direction(const Node& node) {
        const Node* arguments = find(node, "classArgs");
        const Node* mode = arguments == nullptr ? nullptr : find(*arguments, "optimize_mode");
        if (mode == nullptr) return;
        if (mode->text == "minimize")
            builder_.study.objective.direction = Direction::minimize;
        else if (mode->text != "maximize")
            reading_.error(mode->location, "'optimize_mode' is minimize or maximize, found " + printable(mode->text));
    }

    void algorithm(const char* key, const char* older) {
        const Node* node = first({key});
        if (node == nullptr) return;
        const Node* name = find(*node, "name");
        if (name == nullptr) name = find(*node, older);
        direction(*node);
        const string algorithm = text_of(name);
        if (algorithm == "Random") {
            use_random(builder_);
        } else if (algorithm == "GridSearch") {
            use_grid(reading_, name->location);
        } else if (algorithm == "Hyperband" || algorithm == "BOHB") {
            const bool bohb = algorithm == "BOHB";
            steps_ = static_cast<std::int64_t>(option(*node, bohb ? "max_budget" : "R", bohb ? 3 : 60));
            add_halving(builder_, static_cast<std::int64_t>(option(*node, "min_budget", 1)), option(*node, "eta", 3),
                        name->location, algorithm);
            builder_.remark("stopping", name->location,
                            "there is no TRIAL_BUDGET here: a trial reports each step, and the rule ends or pauses it");
        } else if (algorithm == "TPE") {
            builder_.comment("sampler",
                             "TPE in the original; auto is gp, or tpe for long studies and those with stopping rules");
        } else {
            builder_.remark("sampler", (name == nullptr ? node : name)->location,
                            (algorithm.empty() ? string("a custom tuner") : "'" + algorithm + "'") +
                                " has no counterpart here: auto is used");
        }
    }

    void assessor() {
        const Node* node = first({"assessor"});
        if (node == nullptr) return;
        const Node* name = find(*node, "name");
        if (name == nullptr) name = find(*node, "builtinAssessorName");
        const string assessor = text_of(name);
        if (assessor != "Medianstop" && assessor != "Curvefitting") {
            builder_.remark("stopping", node->location,
                            "the assessor '" + assessor + "' is not known: see the rules plateau, median and asha");
            return;
        }
        const auto grace =
            static_cast<std::int64_t>(std::max(1.0, option(*node, "start_step", assessor == "Medianstop" ? 0 : 6)));
        builder_.study.stopping.push_back({"median", {{"grace", grace}}});
        if (assessor == "Curvefitting")
            builder_.remark(
                "stopping", name->location,
                "Curvefitting, which predicts a trial's last value from its curve, becomes median, which ends trials "
                "that are worse than half of the others");
        if (const double epochs = option(*node, "epoch_num", 0); epochs >= 1)
            steps_ = static_cast<std::int64_t>(epochs) + 1;
    }

    const Reading& reading_;
    StudyBuilder& builder_;
    const Node& root_;
    std::int64_t steps_ = 0;
};

bool is_space(const Node& root) {
    return root.kind == Node::Kind::map && !root.entries.empty() &&
           std::all_of(root.entries.begin(), root.entries.end(),
                       [](const Entry& entry) { return find(entry.value, "_type") != nullptr; });
}

bool is_experiment(const Node& root) {
    if (root.kind != Node::Kind::map) return false;
    const auto any = [&](std::initializer_list<const char*> keys) {
        return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return find(root, key) != nullptr; });
    };
    return any({"trialCommand", "trial"}) &&
           any({"searchSpace", "searchSpaceFile", "searchSpacePath", "useAnnotation"});
}

void read_space(const Reading& reading, const Node& root) {
    StudyBuilder& builder = reading.builder;
    builder.study.objective = {"default", Direction::maximize, Objective::At::last};
    NniSpace(reading).read(root);
    builder.script().command = {"python3", "train.py"};
    builder.remark("worker", 0, "a search space names no script: replace train.py by it");
    use_stand_in(builder, {});
    builder.remark("objective", 0, "a search space has no direction: check whether to minimize or maximize");
    choose_epochs(builder, 0);
}

void read_experiment(const Reading& reading, const Node& root) { NniExperiment(reading, root).read(); }

}  // namespace

const Format nni_space{"nni", "a search space of NNI", "'_type' in each of its entries", is_space, read_space};

const Format nni_experiment{"nni", "an experiment of NNI", "'trialCommand' or 'trial' with a search space",
                            is_experiment, read_experiment};

}  // namespace hpo::importing
