// The folder in which MLflow keeps runs (mlruns): a study is an experiment, a trial a run. The layout is that of
// mlflow/store/tracking/file_store.py; texts in its YAML are JSON strings.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "hpo/short_hash.hpp"
#include "orchestrator/export/registry.hpp"
#include "orchestrator/export/run_folders.hpp"

namespace hpo::exporting {

namespace {

namespace fs = std::filesystem;
using std::string;

/// RunStatus of MLflow.
enum class RunStatus { running = 1, scheduled = 2, finished = 3, failed = 4, killed = 5 };

/// Returns the same 18 digits whenever the study is exported.
string experiment_id(const Study& study) {
    char text[24];
    std::snprintf(text, sizeof text, "%018llu",
                  static_cast<unsigned long long>(fnv_hash(study.name) % 1000000000000000000ULL));
    return text;
}

string milliseconds(double time) { return std::to_string(std::llround(time * 1000)); }

string quoted_text(const string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Returns a name that MLflow accepts, and that stays within its folder: letters, digits, '_', '-', '.' and blanks.
string plain_name(const string& name) {
    string plain = name;
    for (char& c : plain)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
              c == '.' || c == ' '))
            c = c == '/' ? '.' : '_';
    if (plain.find_first_not_of('.') == string::npos) plain += '_';
    return plain;
}

RunStatus status_of(TrialState state) {
    if (state == TrialState::complete || state == TrialState::stopped) return RunStatus::finished;
    if (state == TrialState::failed || state == TrialState::diverged) return RunStatus::failed;
    return state == TrialState::running ? RunStatus::running : RunStatus::scheduled;
}

/// Returns the number with 17 significant digits, which read back as the same number.
string all_digits(double value) {
    char number[32];
    std::snprintf(number, sizeof number, "%.17g", value);
    return number;
}

/// One line for each step: time in milliseconds, value, step.
std::map<string, string> metric_files(const TrialRecord& trial) {
    std::map<string, string> files;
    for (const Report& report : trial.curve)
        for (const auto& [name, value] : report.metrics)
            files[plain_name(name)] += milliseconds(trial.started_at + report.seconds.value_or(0)) + ' ' +
                                       all_digits(value) + ' ' + std::to_string(report.step) + '\n';
    return files;
}

string run_meta(const Study& study, const TrialRecord& trial, const fs::path& artifacts) {
    const string id = run_id(study, trial);
    return "artifact_uri: " + quoted_text("file://" + artifacts.string()) +
           "\nend_time: " + (is_final(trial.state) ? milliseconds(trial.ended_at) : "null") +
           "\nentry_point_name: ''\nexperiment_id: '" + experiment_id(study) +
           "'\nlifecycle_stage: active\nrun_id: " + quoted_text(id) + "\nrun_name: trial " +
           std::to_string(trial.number) + "\nrun_uuid: " + quoted_text(id) +
           "\nsource_name: hpo\nsource_type: 4\nsource_version: ''\nstart_time: " + milliseconds(trial.started_at) +
           "\nstatus: " + std::to_string(static_cast<int>(status_of(trial.state))) + "\ntags: []\nuser_id: ''\n";
}

void write_run(Tree& tree, const Study& study, const TrialRecord& trial, const fs::path& root) {
    const string run = experiment_id(study) + '/' + run_id(study, trial) + '/';
    for (const char* part : {"artifacts", "metrics", "params", "tags"}) tree.folder(run + part);
    tree.file(run + "meta.yaml", run_meta(study, trial, root / run / "artifacts"));
    for (const auto& [name, value] : trial.params) tree.file(run + "params/" + plain_name(name), to_text(value));
    for (const auto& [name, lines] : metric_files(trial)) tree.file(run + "metrics/" + name, lines);
    const std::map<string, string> tags{{"mlflow.runName", "trial " + std::to_string(trial.number)},
                                        {"mlflow.source.name", "hpo"},
                                        {"hpo.trial", std::to_string(trial.number)},
                                        {"hpo.state", string(to_text(trial.state))},
                                        {"hpo.rule", trial.rule},
                                        {"hpo.reason", trial.reason},
                                        {"hpo.value", trial.value ? all_digits(*trial.value) : ""}};
    for (const auto& [name, text] : tags)
        if (!text.empty()) tree.file(run + "tags/" + name, text);
}

Result<void> write_mlflow(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const fs::path& folder, const fs::path& shown) {
    Tree tree(folder, shown);
    std::error_code ignored;
    const fs::path root = fs::absolute(shown, ignored).lexically_normal();
    const string id = experiment_id(study);
    const double begun = record.trials.empty() ? record.last_time : record.trials.front().queued_at;
    tree.folder(id);
    tree.file(id + "/meta.yaml", "artifact_location: " + quoted_text("file://" + (root / id).string()) +
                                     "\ncreation_time: " + milliseconds(begun) + "\nexperiment_id: '" + id +
                                     "'\nlast_update_time: " + milliseconds(record.last_time) +
                                     "\nlifecycle_stage: active\nname: " + quoted_text(study.name) + '\n');
    for (const TrialRecord& thinned : record.trials) {
        if (!has_begun(thinned)) continue;
        const auto trial = whole(thinned);
        if (!trial) return trial.error();
        write_run(tree, study, *trial, root);
    }
    return tree.result();
}

}  // namespace

const Format mlflow_format{.name = "mlflow",
                           .description = "a folder of runs, for mlflow ui --backend-store-uri",
                           .kind = OutputPath::Kind::folder,
                           .takes = has_begun,
                           .write = write_mlflow};

}  // namespace hpo::exporting
