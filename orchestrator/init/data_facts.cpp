#include "orchestrator/init/data_facts.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace hpo::init {

namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

}  // namespace

Result<DataFacts> read_facts(std::string_view text, const std::string& path) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return Error{"the worker cannot describe " + path};
    if (json.contains("error")) return Error{json.value("error", "")};
    DataFacts facts;
    facts.path = path;
    facts.format = json.value("format", "");
    facts.rows = json.value("rows", std::int64_t{0});
    facts.test = json.value("test", std::int64_t{0});
    facts.targets = json.value("targets", facts.targets);
    facts.inputs = json.value("inputs", "");
    facts.sample = json.value("sample", "");
    facts.outputs = json.value("outputs", std::int64_t{0});
    facts.image = json.value("image", false);
    facts.classes = json.value("classes", false);
    facts.trees = json.value("trees", false);
    for (const auto& one : json.value("columns", nlohmann::json::array())) {
        ColumnFacts column{one.value("name", ""), one.value("kind", ""), one.value("missing", std::int64_t{0}),
                           one.value("distinct", std::int64_t{0}), one.value("example", "")};
        column.whole = one.value("whole", false);
        column.counts_up = one.value("counts_up", false);
        if (one.contains("auc")) column.auc = one.value("auc", 0.5);
        column.values = one.value("values", column.values);
        facts.columns.push_back(std::move(column));
    }
    return facts;
}

std::string format_of(const std::string& path, bool is_folder) {
    if (is_folder) return "images";
    std::filesystem::path name = lower(std::filesystem::path(path).filename().string());
    if (name.extension() == ".gz") name = name.stem();
    const std::string ending = name.extension().string();
    for (const auto& [format, endings] :
         {std::pair{"csv", std::array{".csv", ".csv", ".csv"}},
          std::pair{"parquet", std::array{".parquet", ".pq", ".parq"}},
          std::pair{"npy", std::array{".npy", ".npz", ".npz"}}, std::pair{"text", std::array{".txt", ".text", ".md"}},
          std::pair{"script", std::array{".py", ".py", ".py"}}})
        if (std::find(endings.begin(), endings.end(), ending) != endings.end()) return format;
    return {};
}

std::string likely_target(const DataFacts& facts) {
    constexpr std::array names{"target", "label", "class", "y", "outcome", "response", "labels", "targets"};
    for (const char* name : names)
        for (const ColumnFacts& column : facts.columns)
            if (lower(column.name) == name) return column.name;
    const auto usable = [](const ColumnFacts& column) {
        return column.kind != "dates" && column.kind != "unreadable" && column.kind != "empty" &&
               column.kind != "index" && column.kind != "formatted";
    };
    const auto last = std::find_if(facts.columns.rbegin(), facts.columns.rend(), usable);
    return last == facts.columns.rend() ? "" : last->name;
}

}  // namespace hpo::init
