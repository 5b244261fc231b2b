#include "worker/data/series.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SeriesData : public ::testing::Test {
   protected:
    DataConfig config(const std::string& text, std::int64_t window, const std::string& target = "y") const {
        DataConfig config;
        config.format = "series";
        // A name for each text, since the reader keeps the last file's contents.
        config.path = std::filesystem::path(folder_.path()) / (std::to_string(std::hash<std::string>()(text)) + ".csv");
        std::ofstream(config.path, std::ios::binary) << text;
        config.target = target;
        config.window = window;
        return config;
    }
    [[nodiscard]] std::string error(const std::string& text, const std::string& target = "y",
                                    const std::string& ignore = "") const {
        DataConfig data = config(text, 2, target);
        data.ignore = ignore;
        const auto shape = describe_data(data);
        return shape ? "" : shape.error().message;
    }

    const testing::TemporaryFolder folder_;
};

/// Everything that the sink gets, by samples.
struct LoadedWindows {
    std::vector<std::vector<float>> features[2], targets[2];  ///< by Part
    DataFacts facts;
};

LoadedWindows load_windows(const DataConfig& config) {
    LoadedWindows loaded;
    const auto shape = describe_data(config);
    if (!shape) throw std::runtime_error(shape.error().message);
    const auto facts = load_data(config, 1, [&](const SampleBatch& batch) {
        const auto part = static_cast<std::size_t>(batch.part);
        EXPECT_EQ(batch.first, static_cast<std::int64_t>(loaded.features[part].size()));
        for (const auto& [bytes, to] :
             {std::pair(batch.features, &loaded.features[part]), std::pair(batch.targets, &loaded.targets[part])}) {
            const std::size_t width = bytes.size() / static_cast<std::size_t>(batch.count);
            for (std::size_t i = 0; i < static_cast<std::size_t>(batch.count); ++i) {
                std::vector<float>& values = to->emplace_back(width / 4);
                std::memcpy(values.data(), &bytes[i * width], width);
            }
        }
    });
    if (!facts) throw std::runtime_error(facts.error().message);
    loaded.facts = *facts;
    EXPECT_EQ(static_cast<std::int64_t>(loaded.features[0].size()), shape->train);
    EXPECT_EQ(static_cast<std::int64_t>(loaded.features[1].size()), shape->test);
    EXPECT_THAT(loaded.features[0], Each(::testing::SizeIs(static_cast<std::size_t>(shape->features()))));
    EXPECT_THAT(loaded.targets[0], Each(::testing::SizeIs(static_cast<std::size_t>(shape->outputs))));
    return loaded;
}

/// Two columns: the number of the row, and its square.
std::string counted(int rows) {
    std::string text = "y,z\n";
    for (int i = 0; i < rows; ++i) text += std::to_string(i) + "," + std::to_string(i * i) + "\n";
    return text;
}

TEST_F(SeriesData, ASampleIsAWindowOfRowsAndItsTargetsAreTheRowsAfterIt) {
    DataConfig data = config(counted(100), 3, "z,y");
    data.horizon = 2;
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->sample, SampleShape(SequenceShape{3, 2}));
    EXPECT_EQ(shape->outputs, 4);
    EXPECT_EQ(shape->task, Task::regression);
    EXPECT_FALSE(shape->target_per_step);
    EXPECT_TRUE(shape->standardised);
    const LoadedWindows loaded = load_windows(data);
    const auto encoding = nlohmann::json::parse(loaded.facts.encoding);
    const auto original = [&](const char* list, std::size_t i, float value) {
        const auto& column = encoding[list][i];
        return std::round(value * column["deviation"].get<double>() + column["mean"].get<double>());
    };
    std::vector<double> features, targets;
    for (std::size_t i = 0; i < 6; ++i) features.push_back(original("columns", i % 2, loaded.features[0][5][i]));
    for (std::size_t i = 0; i < 4; ++i) targets.push_back(original("targets", i % 2, loaded.targets[0][5][i]));
    EXPECT_THAT(features, ElementsAre(5, 25, 6, 36, 7, 49));
    EXPECT_THAT(targets, ElementsAre(64, 8, 81, 9));
    // The last window ends with the last row.
    EXPECT_EQ(original("targets", 1, loaded.targets[1].back().back()), 99);
}

/// The rows of each part, inputs and targets: {train, validation, test}.
std::array<std::set<std::int64_t>, 3> rows_of_parts(const DataConfig& data) {
    const LoadedWindows loaded = load_windows(data);
    const auto column = nlohmann::json::parse(loaded.facts.encoding)["columns"][0];
    std::array<std::set<std::int64_t>, 3> rows;
    const auto add = [&](std::size_t part, std::size_t sample, std::set<std::int64_t>& to) {
        const auto row = [&](float value) {
            return std::llround(value * column["deviation"].get<double>() + column["mean"].get<double>());
        };
        const auto& features = loaded.features[part][sample];
        for (std::size_t i = 0; i < features.size(); i += 2) to.insert(row(features[i]));
        for (const float target : loaded.targets[part][sample]) to.insert(row(target));
    };
    const auto shape = describe_data(data);
    const auto split = split_data(data, *shape, *split_sizes(data, shape->train), 1);
    EXPECT_TRUE(split);
    for (const std::int32_t sample : split->train) add(0, static_cast<std::size_t>(sample), rows[0]);
    for (const std::int32_t sample : split->validation) add(0, static_cast<std::size_t>(sample), rows[1]);
    for (std::size_t sample = 0; sample < loaded.features[1].size(); ++sample) add(1, sample, rows[2]);
    return rows;
}

TEST_F(SeriesData, NoRowOfOnePartIsInAnotherAndThePartsFollowEachOtherInTime) {
    for (const std::int64_t window : {1, 7, 20})
        for (const std::int64_t horizon : {1, 5})
            for (const std::int64_t stride : {1, 3, 40})
                for (const std::int64_t subset : {0, 4}) {
                    DataConfig data = config(counted(400), window);
                    data.horizon = horizon;
                    data.stride = stride;
                    data.subset = subset;
                    data.validation = 0.25;
                    SCOPED_TRACE(::testing::Message() << window << ", " << horizon << ", " << stride << ", " << subset);
                    const auto rows = rows_of_parts(data);
                    for (const auto& part : rows) ASSERT_FALSE(part.empty());
                    EXPECT_LT(*rows[0].rbegin(), *rows[1].begin());
                    EXPECT_LT(*rows[1].rbegin(), *rows[2].begin());
                    EXPECT_EQ(*rows[2].rbegin(), 399);
                    if (stride > 1) continue;
                    // No row is wasted: each part begins right behind the one before.
                    EXPECT_EQ(*rows[0].rbegin() + 1, *rows[1].begin());
                    EXPECT_EQ(*rows[1].rbegin() + 1, *rows[2].begin());
                }
}

TEST_F(SeriesData, ColumnsAreStandardisedByTheTrainingRowsAlone) {
    const auto ones = [](bool wild) {
        std::string text = "y\n";
        for (int i = 0; i < 200; ++i) text += std::to_string(i >= 148 && wild ? 1e9 : i % 10) + "\n";
        return text;
    };
    DataConfig calm = config(ones(false), 10), wild = config(ones(true), 10);
    const auto rows = rows_of_parts(config(counted(200), 10));
    ASSERT_EQ(*rows[0].rbegin(), 147);
    const LoadedWindows loaded = load_windows(calm);
    EXPECT_EQ(loaded.facts.encoding, load_windows(wild).facts.encoding);
    const auto column = nlohmann::json::parse(loaded.facts.encoding)["columns"][0];
    EXPECT_NEAR(column["mean"].get<double>(), 4.5, 0.1);
    EXPECT_NEAR(column["deviation"].get<double>(), std::sqrt(8.25), 0.1);
    EXPECT_EQ(loaded.facts.target_mean, column["mean"].get<double>());
    EXPECT_EQ(loaded.facts.target_deviation, column["deviation"].get<double>());
}

TEST_F(SeriesData, TheValueBeforeTakesThePlaceOfAMissingOne) {
    std::string text = "x,y\n,0\n";
    for (int i = 1; i < 60; ++i) text += (i == 3 || i == 4 ? "NA" : std::to_string(i)) + ",1.5\n";
    DataConfig data = config(text, 5);
    const LoadedWindows loaded = load_windows(data);
    const auto& first = loaded.features[0][0];
    EXPECT_EQ(first[0], 0);  // the mean, as there is no value before
    EXPECT_EQ(first[2 * 3], first[2 * 2]);
    EXPECT_EQ(first[2 * 4], first[2 * 2]);
    EXPECT_LT(first[2 * 1], first[2 * 2]);
    EXPECT_THAT(*explain_data(data), Contains(Mentions("replaced", "before: x (3 missing)")));
}

TEST_F(SeriesData, WhatWasUnderstoodIsTold) {
    std::string text = "hour,y,z\n";
    for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "h," + std::to_string(i % 50) + ",3\n";
    DataConfig data = config(text, 60);
    data.ignore = "hour";
    EXPECT_THAT(*explain_data(data),
                ElementsAre(MentionsInOrder("1,000 rows", "60 rows x 2 features", "1 row"),
                            MentionsInOrder("664 windows", "validate (74)", "test (82)", "60 windows"),
                            Mentions("target: y (0 to 49)", "after"), "features: y, z", "left out: hour",
                            Mentions("warning: column z", "same", "every")));
}

TEST_F(SeriesData, RowsThatAreNotInTheOrderOfTheirDatesAreWarnedOf) {
    const auto series = [&](int swapped) {
        std::string text = "day,y,z\n";
        for (int i = 0; i < 60; ++i) {
            const int day = 10 + (i == swapped ? i - 2 : i) % 90;
            text += "2024-01-" + std::to_string(day) + "," + std::to_string(i % 7) + ",\n";
        }
        DataConfig data = config(text, 5);
        data.ignore = "day";
        return *explain_data(data);
    };
    EXPECT_THAT(series(7), Contains(MentionsInOrder("warning: ", "line 9: \"2024-01-15\"", "follows", "\"2024-01-16\"",
                                                    "column", "day")));
    EXPECT_THAT(series(-1), ::testing::Not(Contains(HasSubstr("2024-01-"))));
    EXPECT_THAT(series(-1), Contains(Mentions("warning: column z", "no value", "data.ignore")));
}

TEST_F(SeriesData, ASeriesThatIsTooShortIsAnErrorWithTheRowsThatAreNeeded) {
    const auto message = [&](int rows, std::int64_t window, std::int64_t horizon, std::int64_t stride) {
        DataConfig data = config(counted(rows), window);
        data.horizon = horizon;
        data.stride = stride;
        const auto shape = describe_data(data);
        return shape ? "" : shape.error().message;
    };
    EXPECT_THAT(message(50, 60, 1, 1), MentionsInOrder("data.window: ", "60 rows", "1", "61 rows", "50"));
    EXPECT_THAT(message(100, 60, 1, 1), Mentions("at least 183"));
    EXPECT_THAT(message(182, 60, 1, 1), Mentions("at least 183"));
    EXPECT_EQ(message(183, 60, 1, 1), "");
    EXPECT_EQ(message(150, 10, 2, 30), "");
    EXPECT_THAT(message(71, 10, 2, 30), Mentions("at least 72"));
    EXPECT_EQ(message(72, 10, 2, 30), "");
}

TEST_F(SeriesData, ErrorsNameTheLineAndTheColumn) {
    EXPECT_THAT(error("x,y\n1,2\n3,\n"), Mentions(".csv: line 3, column 2", "target"));
    EXPECT_THAT(error("x,y\n1,2\n3,NaN\n"), Mentions("line 3, column 2", "target"));
    EXPECT_THAT(error("x,y\n2024-01-01,2\n"), Mentions("line 2, column 1 (x): \"2024-01-01\"", "data.ignore"));
    EXPECT_THAT(error("x,y\n1,inf\n"), Mentions("line 2, column 2 (y): \"inf\"", "finite"));
    EXPECT_THAT(error("x,y\n1\n"), Mentions("line 2: 1"));
    EXPECT_THAT(error("x,x\n1,2\n"), Mentions("line 1, column 2", "second"));
    EXPECT_THAT(error("x;y\n1;2\n"), HasSubstr("commas"));
    EXPECT_THAT(error(""), HasSubstr("empty"));
    EXPECT_THAT(error("x,y\n1,2\n", "w"), StartsWith("data.target: "));
    EXPECT_THAT(error("x,y\n1,2\n", "y, y"), "data.target: \"y\" is named twice");
    EXPECT_THAT(error("x,y\n1,2\n", "y", "y"), "data.ignore: \"y\" is the target");
    EXPECT_THAT(error("x,y\n1,up\n"), HasSubstr("task: classification"));
    DataConfig data = config(counted(100), 5);
    data.task = Task::multi_label;
    EXPECT_THAT(describe_data(data).error().message, ::testing::AllOf(StartsWith("task: "), HasSubstr("series")));
    data.task.reset();
    data.horizon = 0;
    EXPECT_THAT(describe_data(data).error().message,
                ::testing::AllOf(StartsWith("data.horizon: "), Mentions("0", "classes")));
    data.horizon = 1;
    std::string same = "x,y\n", large = "x,y\n1,2\n1e300,3\n";
    for (int i = 0; i < 100; ++i) same += std::to_string(i) + ",5\n";
    EXPECT_THAT(error(same), HasSubstr("data.target: column y of "));
    EXPECT_THAT(error(large), Mentions("line 3, column 1 (x): \"1e300\"", "large"));
    data.path = "no-such.csv";
    data.task.reset();
    EXPECT_THAT(describe_data(data).error().message,
                ::testing::AllOf(StartsWith("data.path: "), HasSubstr("no-such.csv")));
}

TEST_F(SeriesData, AColumnOfClassesIsPredictedAndIsNoFeature) {
    std::string text = "x,state\n";
    for (int i = 0; i < 120; ++i)
        text += std::to_string(i) + "," + (i % 3 == 0 ? "up" : i % 3 == 1 ? "down" : " flat") + "\n";
    DataConfig data = config(text, 6, "state");
    data.task = Task::classification;
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->task, Task::classification);
    EXPECT_EQ(shape->sample, SampleShape(SequenceShape{6, 1}));
    EXPECT_EQ(shape->outputs, 3);
    EXPECT_FALSE(shape->target_per_step);
    // In the order of their names: down, flat, up. Feature and class of a window follow from its first row.
    for (const std::int64_t horizon : {0, 1, 4}) {
        data.horizon = horizon;
        std::vector<std::int32_t> labels;
        std::vector<float> last;
        const auto facts = load_data(data, 1, [&](const SampleBatch& batch) {
            if (batch.part == Part::test) return;
            const auto* its = reinterpret_cast<const std::int32_t*>(batch.targets.data());
            labels.insert(labels.end(), its, its + batch.count);
            for (std::int64_t i = 0; i < batch.count; ++i)
                last.push_back(reinterpret_cast<const float*>(batch.features.data())[6 * i + 5]);
        });
        ASSERT_TRUE(facts) << facts.error().message;
        const auto json = nlohmann::json::parse(facts->encoding);
        EXPECT_EQ(json["target"]["classes"], (std::vector<std::string>{"down", "flat", "up"}));
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const double row = last[i] * json["columns"][0]["deviation"].get<double>() +
                               json["columns"][0]["mean"].get<double>() + static_cast<double>(horizon);
            EXPECT_EQ(labels[i], (std::vector<std::int32_t>{2, 0, 1})[static_cast<std::size_t>(std::lround(row)) % 3])
                << horizon << " " << i;
        }
    }
    data.horizon = 1;
    EXPECT_THAT(*explain_data(data), Contains(Mentions("state", "after", "window", "3 classes")));
}

TEST_F(SeriesData, ClassesThatCannotBeLearntAreTold) {
    std::string text = "x,y\n", one = text, late = text, names = text, alone = "y\n";
    for (int i = 0; i < 120; ++i) {
        text += std::to_string(i) + "," + std::to_string(i > 110 ? 10 : i % 2) + "\n";
        one += std::to_string(i) + ",1\n";
        late += std::to_string(i) + (i > 110 ? ",1\n" : ",0\n");
        names += std::to_string(i) + "," + std::to_string(7 - i) + ".5\n";
        alone += std::to_string(i % 2) + "\n";
    }
    const auto message = [&](const std::string& csv, const std::string& target) {
        DataConfig data = config(csv, 4, target);
        data.task = Task::classification;
        const auto lines = explain_data(data);
        return lines ? lines->back() : lines.error().message;
    };
    EXPECT_THAT(message(text, "y"), Mentions("warning: ", "no window", ": 10"));
    EXPECT_THAT(message(late, "y"),
                MentionsInOrder("data.target: ", "87 windows", "\"0\"", "data.test", "data.validation"));
    EXPECT_THAT(message(names, "y"), Mentions("\"7.5\""));
    EXPECT_THAT(message(one, "y"), Mentions("\"1\"", "nothing"));
    EXPECT_THAT(message(alone, "y"), HasSubstr("other"));
    EXPECT_THAT(message(text, "x,y"), Mentions("one", "classes"));
    EXPECT_THAT(message("x,y\n1,a\n2,\n", "y"), Mentions("line 3, column 2", "target"));
}

}  // namespace
}  // namespace hpo
