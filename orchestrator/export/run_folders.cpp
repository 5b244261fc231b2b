#include "orchestrator/export/run_folders.hpp"

#include <cstdio>

#include "hpo/short_hash.hpp"

namespace hpo::exporting {

std::string run_id(const Study& study, const TrialRecord& trial) {
    const std::string name = study.name + '/' + std::to_string(trial.number) + '/' + std::to_string(trial.queued_at);
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(fnv_hash(name)),
                  static_cast<unsigned long long>(fnv_hash(name + '/')));
    return text;
}

void Tree::folder(const std::string& name) {
    std::error_code failed;
    if (result_) std::filesystem::create_directories(folder_ / name, failed);
    if (failed) result_ = write_error(shown_ / name, failed.value());
}

void Tree::file(const std::string& name, std::string_view content) {
    if (!result_) return;
    auto file = FileWriter::create(folder_ / name, shown_ / name);
    if (!file) {
        result_ = file.error();
        return;
    }
    result_ = file->write(content);
    if (result_) result_ = file->close(false);
}

}  // namespace hpo::exporting
