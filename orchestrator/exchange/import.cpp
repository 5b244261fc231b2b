#include "orchestrator/exchange/import.hpp"

#include <algorithm>
#include <cmath>

#include "orchestrator/exchange/sources.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::exchange {

namespace {

using study::Node;

constexpr std::int64_t many_steps = 1000;

/// The file's name without folders and its ending; where that says no more than what kind of file it is (config.yml,
/// search_space.json), the folder's.
std::string stem_of(const std::string& file_name) {
    const auto slash = file_name.find_last_of('/');
    const std::string name = file_name.substr(slash + 1);
    const auto dot = name.rfind('.');
    const std::string stem = name.substr(0, dot == 0 || dot == std::string::npos ? name.size() : dot);
    constexpr std::string_view kinds[] = {"config", "search_space", "searchspace", "sweep", "experiment"};
    const bool says_its_kind = std::any_of(std::begin(kinds), std::end(kinds), [&](std::string_view kind) {
        return stem == kind || stem.starts_with(std::string(kind) + "_") || stem.starts_with(std::string(kind) + "-");
    });
    if (!says_its_kind || slash == std::string::npos) return stem;
    const std::string folders = file_name.substr(0, slash);
    const std::string folder = as_study_name(folders.substr(folders.find_last_of('/') + 1));
    return folder.empty() ? stem : folder;
}

enum class FileForm { wandb_sweep, nni_space, nni_experiment, katib_experiment };

std::vector<FileForm> forms_of(const Node& root, Origin origin) {
    std::vector<FileForm> forms;
    const auto may_be = [&](Origin tool) { return origin == Origin::automatic || origin == tool; };
    if (may_be(Origin::wandb) && is_wandb_sweep(sweep_within(root))) forms.push_back(FileForm::wandb_sweep);
    if (may_be(Origin::nni) && is_nni_space(root)) forms.push_back(FileForm::nni_space);
    if (may_be(Origin::nni) && is_nni_experiment(root)) forms.push_back(FileForm::nni_experiment);
    if (may_be(Origin::katib) && is_katib_experiment(root)) forms.push_back(FileForm::katib_experiment);
    return forms;
}

constexpr const char* what_is_looked_for =
    "a W&B sweep has 'parameters' with 'method', 'program' or 'command'; an NNI experiment has 'trialCommand' or "
    "'trial' with a search space; an NNI search space has '_type' in each of its entries; an experiment of Katib has "
    "'kind: Experiment' and 'parameters' in its 'spec'";

void read(FileForm form, const Reading& reading, const Node& root) {
    switch (form) {
        case FileForm::wandb_sweep:
            reading.builder.title = "a W&B sweep";
            if (const Node& sweep = sweep_within(root); &sweep != &root) {
                reading.leave_out_others(root, {"sweep"}, "the file");
                return read_wandb_sweep(reading, sweep);
            }
            return read_wandb_sweep(reading, root);
        case FileForm::nni_space:
            reading.builder.title = "a search space of NNI";
            return read_nni_space(reading, root);
        case FileForm::nni_experiment:
            reading.builder.title = "an experiment of NNI";
            return read_nni_experiment(reading, root);
        case FileForm::katib_experiment:
            reading.builder.title = "an experiment of Katib";
            return read_katib_experiment(reading, root);
    }
}

}  // namespace

Result<Conversion> convert(std::string_view text, const std::string& file_name, Origin origin, const Vocabulary& known,
                           const ReadOther& read_other) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const std::string spaced = without_tabs(text);
    study::Diagnostics diagnostics(file_name, spaced);
    const auto root = study::parse_yaml(spaced, 0, diagnostics, study::Tags::core);
    if (!root) return Error{diagnostics.text()};
    const auto forms = forms_of(*root, origin);
    if (forms.size() != 1) {
        const std::string found = forms.empty() ? "neither a W&B sweep nor a file of NNI or Katib: "
                                                : "could be a W&B sweep and a file of NNI (--from decides): ";
        diagnostics.error(
            {}, origin == Origin::wandb ? "no W&B sweep: it has 'parameters' with 'method', 'program' or 'command'"
                : origin == Origin::nni
                    ? "no file of NNI: an experiment has 'trialCommand' or 'trial' with a search space; a "
                      "search space has '_type' in each of its entries"
                : origin == Origin::katib
                    ? "no experiment of Katib: it has 'kind: Experiment' and 'parameters' in its 'spec'"
                    : found + what_is_looked_for);
        return Error{diagnostics.text()};
    }
    StudyBuilder builder(file_name);
    read(forms.front(), {diagnostics, builder, known, read_other}, *root);
    if (!diagnostics.ok()) return Error{diagnostics.text()};
    if (builder.study.name.empty()) builder.study.name = as_study_name(stem_of(file_name));

    Conversion conversion;
    conversion.origin = forms.front() == FileForm::wandb_sweep        ? Origin::wandb
                        : forms.front() == FileForm::katib_experiment ? Origin::katib
                                                                      : Origin::nni;
    conversion.yaml = builder.text();
    conversion.remarks = builder.remarks();
    if (const auto study = parse_study(conversion.yaml, "the converted study", {}, known); !study)
        return Error{file_name + ": cannot be written as a study:\n" + study.error().message};
    return conversion;
}

std::string without_tabs(std::string_view text) {
    std::string spaced(text);
    const auto first = spaced.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || (spaced[first] != '{' && spaced[first] != '[')) return spaced;
    bool quoted = false;
    for (std::size_t i = 0; i < spaced.size(); ++i) {
        if (quoted && spaced[i] == '\\')
            ++i;
        else if (spaced[i] == '"')
            quoted = !quoted;
        else if (!quoted && spaced[i] == '\t')
            spaced[i] = ' ';
    }
    return spaced;
}

bool Reading::knows_sampler(std::string_view name) const {
    return std::any_of(known.samplers.begin(), known.samplers.end(),
                       [&](const PartOptions& part) { return part.name == name; });
}

void Reading::leave_out_others(const Node& map, const std::vector<std::string_view>& known_keys,
                               const std::string& what) const {
    for (const study::Entry& entry : map.entries)
        if (std::find(known_keys.begin(), known_keys.end(), entry.key) == known_keys.end())
            builder.remark("", entry.location,
                           "'" + entry.key + "' of " + what + " has no counterpart here: it is left out");
}

void choose_epochs(StudyBuilder& builder, std::int64_t otherwise) {
    Study& study = builder.study;
    study.budget.epochs = builder.epochs() > 0 ? builder.epochs() : otherwise > 0 ? otherwise : many_steps;
    if (builder.epochs() == 0 && otherwise <= 0)
        builder.remark(
            "budget", 0,
            "how many steps a trial takes is not said there: write for epochs how often the script reports the "
            "objective; it is ended at " +
                std::to_string(many_steps));
    for (const PartSpec& rule : study.stopping)
        if (rule.type == "asha")
            study.budget.epochs =
                std::max(study.budget.epochs, static_cast<std::int64_t>(number_or(rule.options.at("grace"), 1)) + 1);
    study.budget.epochs = std::min<std::int64_t>(study.budget.epochs, 1000000);
}

void add_halving(StudyBuilder& builder, std::int64_t grace, double factor, const study::Location& location,
                 const std::string& what) {
    const auto whole = static_cast<std::int64_t>(std::clamp(std::round(factor), 2.0, 1000.0));
    grace = std::clamp<std::int64_t>(grace, 1, 999999);
    builder.study.stopping.push_back({"asha", {{"grace", grace}, {"factor", whole}}});
    builder.remark(
        "stopping", location,
        what + " becomes asha: rungs at " + std::to_string(grace) + ", " + std::to_string(grace * whole) +
            ", ... steps, the best one in " + std::to_string(whole) +
            " goes on; the others pause and may be promoted, which trains a script without checkpoints anew (the "
            "client's checkpoint=True avoids that)");
}

std::string metric_name_of(std::string_view name) {
    std::string fit;
    for (const char c : name.substr(0, 64)) {
        const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                          c == '_' || c == '-' || c == '/';
        fit += kept ? c : '_';
    }
    const bool letter = !fit.empty() && ((fit[0] >= 'a' && fit[0] <= 'z') || (fit[0] >= 'A' && fit[0] <= 'Z'));
    return letter || fit.starts_with('_') ? fit : ("_" + fit).substr(0, 64);
}

void use_random(StudyBuilder& builder) {
    builder.study.sampler = {"random", {}};
    builder.study.policy.scaled = false;
}

void use_grid(const Reading& reading, const study::Location& location) {
    Study& study = reading.builder.study;
    double count = 1, longest = 2;  // the longest range, in values
    for (const Dimension& dimension : study.space) {
        if (dimension.kind == Kind::categorical) {
            count *= static_cast<double>(dimension.choices.size());
        } else if (dimension.low < dimension.high) {
            const double values =
                dimension.kind == Kind::integer || dimension.step
                    ? std::floor((dimension.high - dimension.low) / dimension.step.value_or(1) + 0.5) + 1
                    : HUGE_VAL;
            count *= values;
            longest = std::max(longest, values);
        }
    }
    study.sampler = {reading.knows_sampler("grid") ? "grid" : "sobol", {}};
    study.policy.scaled = false;  // the combinations as they are declared
    if (count <= 1e6) {
        study.budget.trials = static_cast<std::int64_t>(count);
        if (study.sampler.type == "grid" && longest > 16)  // of so many values it takes all anyway
            study.sampler.options["points"] = static_cast<std::int64_t>(longest);
        if (study.sampler.type != "grid")
            reading.builder.remark("sampler", location,
                                   "a grid search: every combination is tried once (" +
                                       std::to_string(study.budget.trials) +
                                       " at most), in an order that spreads them (sobol)");
        return;
    }
    reading.builder.remark("sampler", location,
                           "a grid over a continuum, or of more than a million combinations: here points that fill the "
                           "space evenly (sobol), as many as the budget has trials");
    study.sampler = {"sobol", {}};
}

}  // namespace hpo::exchange
