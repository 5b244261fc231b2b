#include "orchestrator/export/registry.hpp"

#include <array>

namespace hpo::exporting {

namespace {
constexpr std::array rows{&optuna_format,      &csv_format,    &jsonl_format,
                          &tensorboard_format, &mlflow_format, &wandb_format};
}

std::span<const Format* const> formats() { return rows; }

const Format* find_format(std::string_view name) {
    for (const Format* format : rows)
        if (format->name == name) return format;
    return nullptr;
}

Result<void> write(const Format& format, const Study& study, const StudyRecord& record, const WholeTrial& whole,
                   const std::filesystem::path& path, const std::filesystem::path& shown) {
    if (format.write != nullptr) return format.write(study, record, whole, path, shown);
    auto file = FileWriter::create(path, shown);
    if (!file) return file.error();
    const auto written = format.print(study, record, whole, [&](std::string_view bytes) { return file->write(bytes); });
    return written ? file->close(true) : written;
}

}  // namespace hpo::exporting
