// The registry of formats that a study can be exported to.
#include "orchestrator/export/registry.hpp"

#include <gmock/gmock.h>

#include <set>

#include "support.hpp"

namespace hpo::exporting {
namespace {

TEST(ExportFormats, HaveDistinctNamesADescriptionAndEitherPrintOrWrite) {
    std::set<std::string_view> names;
    for (const Format* format : formats()) {
        EXPECT_TRUE(names.insert(format->name).second) << format->name;
        EXPECT_FALSE(format->description.empty()) << format->name;
        EXPECT_NE(format->print == nullptr, format->write == nullptr) << format->name;
        EXPECT_EQ(find_format(format->name), format);
    }
    EXPECT_EQ(find_format("excel"), nullptr);
}

TEST(ExportFormats, CanAllBeWrittenToAPath) {
    StudyRecord record;
    record.trials.push_back(small_trial(1, TrialState::complete, {0.5, 0.25}));
    for (const Format* format : formats()) {
        const hpo::testing::TemporaryFolder folder;
        const auto path = folder / "out";
        if (format->kind == OutputPath::Kind::folder) std::filesystem::create_directory(path);
        const auto written = write(*format, small_study(), record, as_it_is, path, path);
        EXPECT_TRUE(written) << format->name << ": " << (written ? "" : written.error().message);
        EXPECT_FALSE(std::filesystem::is_empty(path)) << format->name;
    }
}

}  // namespace
}  // namespace hpo::exporting
