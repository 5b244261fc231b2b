#include "worker/data/table.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class Tables : public ::testing::Test {
   protected:
    DataConfig config(const std::string& text, const std::string& target) const {
        DataConfig config;
        config.format = "csv";
        // A name for each text, since the reader keeps the last file's contents.
        config.path = std::filesystem::path(folder_.path()) / (std::to_string(std::hash<std::string>()(text)) + ".csv");
        std::ofstream(config.path, std::ios::binary) << text;
        config.target = target;
        return config;
    }
    [[nodiscard]] std::string error(const std::string& text, const std::string& target = "y") const {
        const auto shape = describe_data(config(text, target));
        return shape ? "" : shape.error().message;
    }

    const testing::TemporaryFolder folder_;
};

/// Everything that the sink gets, by rows.
struct Loaded {
    std::vector<std::vector<float>> features[2];  ///< by Part
    std::vector<float> numbers[2];
    std::vector<std::int32_t> classes[2];
    DataFacts facts;
};

Loaded load(const DataConfig& config, std::uint64_t seed = 1) {
    Loaded loaded;
    const auto shape = describe_data(config);
    if (!shape) throw std::runtime_error(shape.error().message);
    const auto width = static_cast<std::size_t>(shape->features());
    const auto facts = load_data(config, seed, [&](const SampleBatch& batch) {
        const auto part = static_cast<std::size_t>(batch.part);
        EXPECT_EQ(batch.first, static_cast<std::int64_t>(loaded.features[part].size()));
        EXPECT_EQ(batch.features.size(), static_cast<std::size_t>(batch.count) * width * 4);
        const auto targets = static_cast<std::size_t>(shape->target_columns());
        EXPECT_EQ(batch.targets.size(), static_cast<std::size_t>(batch.count) * targets * 4);
        for (std::size_t row = 0; row < static_cast<std::size_t>(batch.count); ++row) {
            std::vector<float> values(width);
            std::memcpy(values.data(), batch.features.data() + row * width * 4, width * 4);
            loaded.features[part].push_back(values);
            for (std::size_t target = row * targets; target < (row + 1) * targets; ++target) {
                float number = 0;
                std::int32_t label = 0;
                std::memcpy(&number, batch.targets.data() + target * 4, 4);
                std::memcpy(&label, batch.targets.data() + target * 4, 4);
                loaded.numbers[part].push_back(number);
                loaded.classes[part].push_back(label);
            }
        }
    });
    if (!facts) throw std::runtime_error(facts.error().message);
    loaded.facts = *facts;
    EXPECT_EQ(static_cast<std::int64_t>(loaded.features[0].size()), shape->train);
    EXPECT_EQ(static_cast<std::int64_t>(loaded.features[1].size()), shape->test);
    return loaded;
}

/// 100 rows: a number that is missing in every tenth, a category with a rare value, and a target.
std::string mixed(bool classes) {
    std::string text = "n,c,y\n";
    for (int i = 0; i < 100; ++i)
        text += (i % 10 == 3 ? "NA" : std::to_string(i * i % 17)) + "," +
                (i == 50      ? "rare"
                 : i % 2 == 0 ? "even"
                              : "odd") +
                "," + (classes ? (i % 4 == 0 ? "yes" : "no") : std::to_string(0.5 + i)) + "\n";
    return text;
}

TEST_F(Tables, ColumnsAreNumbersWithAnIndicatorOfMissingOnesOrLevelsAndOther) {
    const auto shape = describe_data(config(mixed(false), "y"));
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->task, Task::regression);
    EXPECT_EQ(shape->features(), 2 + 3);
    EXPECT_EQ(shape->categories, std::vector<CategoryShape>({{2, 3}}));
    EXPECT_EQ(shape->outputs, 1);
    EXPECT_EQ(shape->test, 10);
    EXPECT_EQ(shape->train, 90);
    EXPECT_TRUE(shape->standardised);
}

TEST_F(Tables, WhatIsFittedIsOfTheTrainingSplitAlone) {
    const DataConfig data = config(mixed(false), "y");
    const Loaded loaded = load(data);
    const auto sizes = split_sizes(data, 90);
    const auto split = split_data(data, *describe_data(data), *sizes, 1);
    ASSERT_TRUE(split);
    double sum = 0, squares = 0, target = 0;
    std::multiset<float> present;
    for (const std::int32_t row : split->train) {
        const auto& features = loaded.features[0][static_cast<std::size_t>(row)];
        target += loaded.numbers[0][static_cast<std::size_t>(row)];
        EXPECT_EQ(features[2] + features[3] + features[4], 1);
        if (features[1] == 1) continue;
        sum += features[0];
        squares += double{features[0]} * features[0];
        present.insert(features[0]);
    }
    const auto count = static_cast<double>(present.size());
    EXPECT_NEAR(sum / count, 0, 1e-6);
    EXPECT_NEAR(squares / count, 1, 1e-5);
    EXPECT_NEAR(target, 0, 1e-4);
    // The median takes the place of missing numbers, in every part.
    auto middle = present.begin();
    std::advance(middle, static_cast<std::ptrdiff_t>(present.size() / 2));
    const double median = present.size() % 2 == 1 ? *middle : (*middle + *std::prev(middle)) / 2;
    int missing = 0;
    for (const auto& part : loaded.features)
        for (const auto& features : part)
            if (features[1] == 1) {
                EXPECT_NEAR(features[0], median, 1e-5);
                ++missing;
            }
    EXPECT_EQ(missing, 10);
    // A wild value in a row that does not train changes no fitted number.
    const auto roles = split_table(**survey_table(data), data, *parts_of_table(**survey_table(data), data), 1).uses;
    std::string wild = "n,c,y\n";
    std::istringstream lines(mixed(false));
    std::string line;
    std::getline(lines, line);
    for (std::size_t row = 0; std::getline(lines, line); ++row)
        wild += (roles[row] == RowUse::train ? line : "1e9" + line.substr(line.find(','))) + "\n";
    const auto encoding = nlohmann::json::parse(load(config(wild, "y")).facts.encoding);
    const auto before = nlohmann::json::parse(loaded.facts.encoding);
    EXPECT_EQ(encoding["columns"][0]["mean"], before["columns"][0]["mean"]);
    EXPECT_EQ(encoding["columns"][0]["deviation"], before["columns"][0]["deviation"]);
    EXPECT_EQ(encoding["target"]["mean"], before["target"]["mean"]);
}

TEST_F(Tables, TargetsOfRegressionAreStandardisedAndTheFactsSayHow) {
    const Loaded loaded = load(config(mixed(false), "y"));
    std::multiset<long> targets;
    for (const auto& part : loaded.numbers)
        for (const float number : part)
            targets.insert(std::lround(number * loaded.facts.target_deviation + loaded.facts.target_mean - 0.5));
    for (long i = 0; i < 100; ++i) EXPECT_EQ(targets.count(i), 1U) << i;
}

TEST_F(Tables, ALevelThatTheTrainingSplitDoesNotHaveIsOther) {
    // By time, the last rows test: they have a level of their own.
    std::string text = "c,x,y\n";
    for (int i = 0; i < 100; ++i)
        text += std::string(i < 90 ? (i % 2 == 0 ? "a" : "b") : "late") + "," + std::to_string(i % 7) + "," +
                std::to_string(i * 1.5) + "\n";
    DataConfig data = config(text, "y");
    data.split = SplitKind::time;
    const Loaded loaded = load(data);
    ASSERT_EQ(loaded.features[1].size(), 10U);
    for (const auto& features : loaded.features[1]) {
        const std::vector<float> levels(features.begin(), features.begin() + 4);
        EXPECT_THAT(levels, ElementsAre(0, 0, 0, 1));  // a, b, late, other
    }
    const auto encoding = nlohmann::json::parse(loaded.facts.encoding);
    EXPECT_EQ(encoding["columns"][0]["levels"], (nlohmann::json{"a", "b", nullptr}));
}

TEST_F(Tables, LevelsAreThoseOfTheTrainingRowsWhateverOthersHave) {
    // 81 rows train, with a to p (16 letters) five times each, and b once more.
    const auto levels = [this](const std::string& late) {
        std::string text = "c,x,y\n";
        for (int i = 0; i < 100; ++i) {
            const std::string early(1, i == 80 ? 'b' : static_cast<char>('a' + i % 16));
            text += (i < 81 ? early : late) + "," + std::to_string(i % 7) + "," + std::to_string(i * 1.5) + "\n";
        }
        DataConfig data = config(text, "y");
        data.split = SplitKind::time;
        data.validation = 0.1;
        EXPECT_EQ(describe_data(data)->features(), late == "z" ? 19 : 18);
        return nlohmann::json::parse(load(data).facts.encoding)["columns"][0]["levels"];
    };
    std::vector<std::string> expected{"b", "a"};
    for (char level = 'c'; level <= 'p'; ++level) expected.emplace_back(1, level);
    EXPECT_EQ(levels("p"), nlohmann::json(expected));
    EXPECT_EQ(levels("c"), nlohmann::json(expected));
    nlohmann::json with_none = expected;
    with_none.push_back(nullptr);
    EXPECT_EQ(levels("z"), with_none);
}

TEST_F(Tables, AMostFrequentLevelOfTheTestRowsTakesNoOnesPlace) {
    // 810 rows train, with 80 values; most of the others have the last ten of these.
    std::string text = "c,x,y\n";
    for (int i = 0; i < 1000; ++i) {
        const int value = i < 810 ? i % 80 : 70 + i % 10;
        text += std::to_string(value + 100) + "," + std::to_string(i % 7) + "," + std::to_string(i * 1.5) + "\n";
    }
    DataConfig data = config(text, "y");
    data.categorical = "c";
    data.split = SplitKind::time;
    data.validation = 0.1;
    std::vector<std::string> expected;  // 100 to 109 have 11 training rows, the others 10
    for (int value = 100; value < 164; ++value) expected.push_back(std::to_string(value));
    EXPECT_EQ(nlohmann::json::parse(load(data).facts.encoding)["columns"][0]["levels"], nlohmann::json(expected));
}

TEST_F(Tables, OneClassAloneIsNotTrainedOn) {
    std::string text = "x,y\n";
    for (int i = 0; i < 80; ++i) text += std::to_string(i % 7) + "," + (i < 75 ? "a" : "b") + "\n";
    DataConfig data = config(text, "y");
    EXPECT_TRUE(describe_data(data));
    data.split = SplitKind::time;
    data.validation = 0.1;
    EXPECT_THAT(
        describe_data(data).error().message,
        MentionsInOrder("data.split: ", "65 rows", "\"a\"", "data.split: stratified", "data.test", "data.validation"));
    data.split = SplitKind::random;
    data.test = 0.9;
    data.validation = 0.8;
    ASSERT_TRUE(describe_data(data));
    EXPECT_THAT(load_data(data, 1, [](const SampleBatch&) {}).error().message,
                AllOf(StartsWith("data.split: "), Mentions("2 rows", "\"a\"", "data.split: stratified")));
}

TEST_F(Tables, ClassesThatNoGroupTrainsAreToldForEachFold) {
    // Counts the messages if one of eight groups of ten rows has a class of its own, for each of the groups.
    const auto seen = [this](const char* others, std::int64_t folds) {
        std::map<std::string, int> counts;
        for (int group = 0; group < 8; ++group) {
            std::string text = "x,g,y\n";
            for (int i = 0; i < 80; ++i)
                text += std::to_string(i % 7) + "," + std::to_string(i / 10) + "," +
                        (i / 10 == group ? 'z' : others[i % 2]) + "\n";
            DataConfig data = config(text, "y");
            data.group = "g";
            data.folds = folds;
            const auto lines = explain_data(data);
            ++counts[lines ? lines->back() : lines.error().message];
        }
        return counts;
    };
    const std::string warning = "warning: no row to train on has the class: z";
    const std::string end =
        " rows to train on have the class \"a\", from which no other one can be told: use a column "
        "whose groups have several classes each";
    EXPECT_THAT(seen("ab", 0), UnorderedElementsAre(Pair(warning, 2), Pair("numbers: x", 6)));
    EXPECT_THAT(seen("ab", 3),
                UnorderedElementsAre(Pair(warning, 1), Pair(warning + " (in fold 1)", 3),
                                     Pair(warning + " (in fold 2)", 2), Pair(warning + " (in fold 3)", 2)));
    EXPECT_THAT(seen("aa", 0),
                UnorderedElementsAre(Pair("data.validation.group: all 60" + end, 2), Pair("numbers: x", 6)));
    EXPECT_THAT(seen("aa", 3), UnorderedElementsAre(Pair("data.validation.group: in fold 1: all 40" + end, 4),
                                                    Pair("data.validation.group: in fold 2: all 50" + end, 2),
                                                    Pair("data.validation.group: in fold 3: all 50" + end, 2)));
}

TEST_F(Tables, ByTimeNoRowThatTrainsIsLaterThanOneThatValidatesOrTests) {
    DataConfig data = config(mixed(false), "y");
    data.split = SplitKind::time;
    const Loaded loaded = load(data);
    const auto split = split_data(data, *describe_data(data), *split_sizes(data, 90), 1);
    ASSERT_TRUE(split);
    const auto& numbers = loaded.numbers[0];
    float latest = -1e9F, earliest = 1e9F;
    for (const std::int32_t row : split->train) latest = std::max(latest, numbers[static_cast<std::size_t>(row)]);
    for (const std::int32_t row : split->validation)
        earliest = std::min(earliest, numbers[static_cast<std::size_t>(row)]);
    EXPECT_LT(latest, earliest);
    for (const float test : loaded.numbers[1]) EXPECT_GT(test, *std::max_element(numbers.begin(), numbers.end()));
}

TEST_F(Tables, ClassesAreInOrderAndEachPartHasThemInProportion) {
    const DataConfig data = config(mixed(true), "y");
    const Loaded loaded = load(data);
    EXPECT_EQ(describe_data(data)->outputs, 2);
    EXPECT_EQ(nlohmann::json::parse(loaded.facts.encoding)["target"]["classes"], (nlohmann::json{"no", "yes"}));
    EXPECT_NEAR(std::count(loaded.classes[1].begin(), loaded.classes[1].end(), 1), 2.5, 0.5);
    EXPECT_EQ(std::count(loaded.classes[0].begin(), loaded.classes[0].end(), 1) +
                  std::count(loaded.classes[1].begin(), loaded.classes[1].end(), 1),
              25);
}

TEST_F(Tables, FewWholeNumbersAreClassesUnlessTheTaskSaysOtherwise) {
    std::string text = "x,y\n";
    for (int i = 0; i < 60; ++i) text += std::to_string(i * 0.5) + "," + std::to_string(i % 11) + "\n";
    DataConfig data = config(text, "y");
    EXPECT_EQ(describe_data(data)->task, Task::classification);
    EXPECT_EQ((*survey_table(data))->classes[10].name, "10");  // by number
    data.task = Task::regression;
    EXPECT_EQ(describe_data(data)->task, Task::regression);
}

TEST_F(Tables, ColumnsCanBeLeftOutAndNumbersCanBeNames) {
    std::string text = "id,code,\"a, b\",y\n";
    for (int i = 0; i < 40; ++i)
        text += std::to_string(i) + "," + std::to_string(10 + i % 3) + ",1," + std::to_string(i * 0.1) + "\n";
    DataConfig data = config(text, "y");
    data.ignore = "id, \"a, b\"";
    EXPECT_THAT(describe_data(data).error().message, HasSubstr("data.ignore: line 1, column 2: a quote"));
    data.ignore = "id,\"a, b\"";
    data.categorical = "code";
    EXPECT_EQ(describe_data(data)->features(), 4);
    data.categorical = "cod";
    EXPECT_THAT(describe_data(data).error().message, StartsWith("data.categorical: "));
    EXPECT_THAT(describe_data(data).error().message, Mentions("\"cod\"", "id, code, a, b, y"));
}

TEST_F(Tables, WhatWasUnderstoodIsToldInLines) {
    std::string text = "n,copy,same,c,y\n";
    for (int i = 0; i < 1200; ++i) {
        const std::string target = i % 3 == 0 ? "1" : "0";
        text += std::to_string(i) + "," + target + ".0,x," +
                (i % 100 == 0 ? "?"
                 : i % 2 == 0 ? "a"
                              : "b") +
                "," + target + "\n";
    }
    const auto lines = explain_data(config(text, "y"));
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_THAT(*lines, Contains("1,200 rows, 5 columns, which become 8 features"));
    EXPECT_THAT(*lines, Contains(MentionsInOrder("972 rows", "108 validate", "120 test: ", "proportions")));
    EXPECT_THAT(*lines, Contains("target: y, 2 classes: 0 (800, 66.7 %), 1 (400, 33.3 %)"));
    EXPECT_THAT(*lines, Contains("numbers: n, copy"));
    EXPECT_THAT(*lines, Contains("categories: same (1 level), c (3 levels, 12 missing)"));
    EXPECT_THAT(*lines, Contains(Mentions("warning:", "copy", "equals")));
    EXPECT_THAT(*lines, Contains(Mentions("warning: ", " same ", "value")));
}

TEST_F(Tables, RangesHaveAsManyDigitsAsTellTheirEndsApart) {
    std::string text = "x,y\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(i % 7) + "," + std::to_string(100'000'000 + i) + "\n";
    EXPECT_THAT(*explain_data(config(text, "y")), Contains("target: y, numbers from 100000000 to 100000039"));
    EXPECT_EQ(range_text(0.5, 1234567), "0.5 to 1.23457e+06");
    EXPECT_EQ(range_text(0.12345678, 0.12345699), "0.1234568 to 0.123457");
    EXPECT_EQ(range_text(2, 2), "2 to 2");
    EXPECT_EQ(range_text(-10000001, -10000000), "-10000001 to -10000000");
}

TEST_F(Tables, ErrorsTellFileLineAndColumnAndTheCure) {
    EXPECT_THAT(error("x,y\n1,2\n1,2,3\n"), HasSubstr(".csv: line 3: 3 columns"));
    EXPECT_THAT(error("x,y\n1,2\n3,\n4,5\n"), Mentions("line 3, column 2", "target"));
    EXPECT_THAT(error("x,y\n1,2\n3,NaN\n4,5\n"), Mentions("(y)", "missing", "\"NaN\""));
    EXPECT_THAT(error("x,y\n1,2\n3,inf\n4,5\n"), Mentions("line 3, column 2 (y): \"inf\""));
    EXPECT_THAT(error("x,y\n1e999,2\n3,1\n4,5\n"), Mentions("line 2, column 1 (x): \"1e999\""));
    EXPECT_THAT(error("x,y,y\n1,2,3\n"), Mentions("line 1, column 3", "second", "\"y\""));
    EXPECT_THAT(error("x,,y\n1,2,3\n"), Mentions("line 1, column 2", "name"));
    EXPECT_THAT(error(",x,y\n0,1,2\n"), Mentions("pandas", "to_csv(index=False)"));
    EXPECT_THAT(error("x,y,\n1,2,\n"), Mentions("line 1, column 3"));
    EXPECT_THAT(error("x,z\n1,2\n"), StartsWith("data.target: "));
    EXPECT_THAT(error("x,y\nm\xFCller,2\nb,1\nc,5\n"),
                Mentions("line 2, column 1 (x)", "\"m\\xfcller\"", "not UTF-8", "convert"));
    EXPECT_THAT(error("x,y\n1,m\xFCller\n2,b\n3,c\n"), Mentions("line 2, column 2 (y)", "\"m\\xfcller\"", "not UTF-8"));
    EXPECT_THAT(error("x,y,m\xFCller\n1,b,2\n"), Mentions("line 1, column 3", "name", "\"m\\xfcller\"", "not UTF-8"));
    EXPECT_THAT(error("x;y\n1;2\n"), HasSubstr("commas"));
    EXPECT_THAT(error("x,y\n1,5\n2,5\n3,5\n"), Mentions("\"5\"", "nothing"));
    EXPECT_THAT(error("x,y\n1,2\n"), HasSubstr("has 1 row"));
    EXPECT_THAT(error(""), Mentions("empty", "header"));
    EXPECT_THAT(error("d,y\n2024-01-31,2\n2024-02-01,1.5\n2024-02-02,3\n"),
                Mentions("column 1", "\"2024-01-31\"", "line 2"));
    EXPECT_THAT(error("d,x,born,y\n2024-01-31,1,1.2.1990,2\n2024-02-01,2,2.2.1990,1.5\n2024-02-02,3,3.2.1990,3\n"),
                Mentions("column 1", "\"2024-01-31\"", "line 2", "data.ignore", "data.categorical"));
    std::string typo = "x,y\n", names = typo;
    for (int i = 0; i < 2000; ++i) {
        typo += (i == 700 ? "12;5" : std::to_string(i)) + "," + std::to_string(i * 0.3) + "\n";
        names += "row " + std::to_string(i) + "," + std::to_string(i * 0.3) + "\n";
    }
    EXPECT_THAT(error(typo), Mentions("line 702, column 1 (x): \"12;5\"", "1999"));
    EXPECT_THAT(error(names), Mentions("\"row 1000\"", "data.ignore"));
    std::string wide = "y";
    for (int i = 0; i < 1'000'000; ++i) wide += ",c" + std::to_string(i);
    EXPECT_THAT(error(wide + "\n"), Mentions("more than 65536 columns"));
    for (const std::string& text : {std::string("x,y\n1,2\n1,2,3\n"), std::string("x,y\n1,5\n2,5\n3,5\n")})
        EXPECT_THAT(error(text), StartsWith("data.path: "));
}

TEST_F(Tables, LargeNumbersThatDifferByLittleAreStandardised) {
    std::string text = "id,y\n";
    for (int i = 0; i < 100; ++i)
        text += std::to_string((1LL << 53) + 2 * i) + "," + std::to_string(i % 7 + 0.5) + "\n";
    const Loaded loaded = load(config(text, "y"));
    for (const auto& row : loaded.features[0]) EXPECT_LT(std::abs(row[0]), 2.5);
}

TEST_F(Tables, TheMedianOfLargeNumbersIsNotRounded) {
    std::string text = "time,y\n";
    for (int i = 0; i < 100; ++i)
        text += (i % 9 == 4 ? "" : std::to_string(1'700'000'000 + i)) + "," + std::to_string(i % 7 + 0.5) + "\n";
    const Loaded loaded = load(config(text, "y"));
    for (const auto& row : loaded.features[0]) {
        if (row[1] == 0) continue;
        EXPECT_NEAR(row[0], 0, 0.2);
    }
}

TEST_F(Tables, NumbersThatAreTooLargeAreRefusedUnlessTheyAreNames) {
    EXPECT_THAT(error("x,y\n1,2\n1e300,1\n4,5\n"), Mentions("line 3, column 1 (x): \"1e300\""));
    DataConfig codes = config("x,y\n1,2.5\n1e999,1\n4,5\n", "y");
    codes.categorical = "x";
    EXPECT_TRUE(describe_data(codes));
    EXPECT_EQ(error("x,y\ninf,2.5\nred,1\ngreen,5\n"), "");
}

TEST_F(Tables, NumbersForPeopleAndDatesAreRefusedWithTheirCure) {
    for (const char* value : {"\"1,234.50\"", "$3", "5%", "\"0,5\""}) {
        EXPECT_THAT(error("x,y\n" + std::string(value) + ",2.5\n" + value + ",3\n" + value + ",1\n"),
                    AllOf(Mentions("column 1"), Mentions("1234.5", "data.categorical")));
        EXPECT_THAT(error("x,y\n2.5," + std::string(value) + "\n1," + value + "\n3,7%\n"), Mentions("column 2"));
    }
    EXPECT_EQ(error("x,y\n1%,2.5\nhalf,3\nall,1\n"), "");
    EXPECT_THAT(error("d,y\n31 Jan 2024,2\n1 Feb 2024,1.5\n2 Feb 2024,3\n"),
                Mentions("column 1", "\"31 Jan 2024\"", "line 2"));
    EXPECT_THAT(error("x,y\n1,10:30\n2,10:31\n3,11:30\n"), HasSubstr("task: classification"));
}

TEST_F(Tables, ColumnsAndClassesThatTellNothingAreWarnedOf) {
    std::string text = "gone,rare,y\n";
    for (int i = 0; i < 60; ++i)
        text += ",r" + std::to_string(i) + "," + (i == 30 ? "once" : i > 54 ? "late" : i % 2 == 0 ? "a" : "b") + "\n";
    DataConfig data = config(text, "y");
    data.split = SplitKind::time;
    EXPECT_THAT(*explain_data(data),
                AllOf(Contains(MentionsInOrder("warning: column", "gone", "no value", "data.ignore")),
                      Contains(MentionsInOrder("warning: column", "rare", "no value", "at least 5", "data.ignore")),
                      Contains(MentionsInOrder("warning: ", "fewer than 3", "once (1)")),
                      Contains(Mentions("warning: ", "no row", ": late"))));
}

TEST_F(Tables, ATargetThatDiffersInEachRowIsNoClass) {
    std::string text = "x,y\n";
    for (int i = 0; i < 20; ++i) text += "1,row" + std::to_string(i) + "\n";
    EXPECT_THAT(error(text), Mentions("\"row0\"", "class"));
}

TEST_F(Tables, NamesThatDifferByCaseOrSignsAreSuggested) {
    EXPECT_THAT(error("x,Sale_Price\n1,2\n", "sale price"), Mentions("x, Sale_Price", "\"Sale_Price\""));
}

TEST_F(Tables, ATaskThatTheTargetCannotServeIsRefused) {
    DataConfig data = config(mixed(true), "y");
    data.task = Task::regression;
    EXPECT_THAT(describe_data(data).error().message, Mentions("line 2, column 3 (y): \"yes\""));
    DataConfig numbers = config(mixed(false), "y");
    numbers.split = SplitKind::stratified;
    EXPECT_THAT(describe_data(numbers).error().message,
                AllOf(StartsWith("data.split: "), Mentions("data.split: stratified", "classes")));
}

TEST_F(Tables, AFileThatChangesIsReadAgain) {
    const DataConfig data = config("x,y\n1,1.5\n2,2.5\n3,3.5\n", "y");
    EXPECT_EQ((*survey_table(data))->rows, 3);
    std::ofstream(data.path, std::ios::app) << "4,4.5\n";
    EXPECT_EQ((*survey_table(data))->rows, 4);
}

/// 40 rows of 8 people, and a class of each row.
std::string people() {
    std::string text = "x,who,y\n";
    for (int i = 0; i < 40; ++i)
        text += std::to_string(i) + ",p" + std::to_string(i % 8) + "," + (i % 3 == 0 ? "yes" : "no") + "\n";
    return text;
}

TEST_F(Tables, RowsOfAGroupAreInTheSamePartAndTheGroupIsNoFeature) {
    DataConfig data = config(people(), "y");
    data.group = "who";
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->features(), 1);
    EXPECT_EQ(shape->train + shape->test, 40);
    EXPECT_EQ(shape->test, 5);
    ASSERT_TRUE(shape->grouped);
    EXPECT_EQ(shape->grouped->validation, 5);
    EXPECT_THAT(*explain_data(data), Contains(Mentions("30", "5 validate, 5", "(8)")));
    const auto split = split_data(data, *shape, *shape->grouped, 1);
    ASSERT_TRUE(split);
    EXPECT_EQ(split->validation.size(), 5U);
    for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ((split->validation[i] - split->validation[0]) % 7, 0);
}

TEST_F(Tables, AGroupThatCannotDivideRowsIsAnErrorWithItsPlace) {
    const auto refused = [&](const std::string& text, const std::string& group) {
        DataConfig data = config(text, "y");
        data.group = group;
        const auto shape = describe_data(data);
        return shape ? std::string() : shape.error().message;
    };
    EXPECT_THAT(refused(people(), "whom"), AllOf(HasSubstr("data.validation.group"), HasSubstr("whom")));
    EXPECT_THAT(refused(people(), "y"), Mentions("data.validation.group: \"y\"", "target"));
    EXPECT_THAT(refused(people() + "7,NA,yes\n", "who"),
                AllOf(HasSubstr("line 42, column 2 (who)"), Mentions("group", "missing")));
    EXPECT_THAT(refused("x,who,y\n1,a,yes\n2,b,no\n3,a,no\n", "who"), Mentions("at least 3 groups"));
}

TEST_F(Tables, FoldsOfARareClassAreRefused) {
    DataConfig data = config("x,y\n1,a\n2,a\n3,a\n4,a\n5,b\n6,b\n7,b\n", "y");
    data.folds = 3;
    EXPECT_THAT(describe_data(data).error().message, Mentions("data.validation.folds: class \"b\" has 3", "2"));
    data.split = SplitKind::random;
    EXPECT_TRUE(describe_data(data));
}

/// 30 rows with two labels, of which `rare` has 3.
std::string labelled(const std::string& last = "0") {
    std::string text = "x,often,c,rare\n";
    for (int i = 0; i < 30; ++i)
        text += std::to_string(i * 0.5) + "," + (i % 2 == 0 ? "1" : "0") + "," + (i % 3 == 0 ? "a" : "b") + "," +
                (i % 10 == 0 ? "1"
                 : i == 29   ? last
                             : "0") +
                "\n";
    return text;
}

TEST_F(Tables, SeveralColumnsOfZeroAndOneAreLabels) {
    const DataConfig data = config(labelled(), "rare, often");
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->task, Task::multi_label);
    EXPECT_EQ(shape->outputs, 2);
    EXPECT_EQ(shape->target_columns(), 2);
    EXPECT_THAT(*explain_data(data), Contains("target: 2 labels: rare (3, 10 %), often (15, 50 %)"));
    const Loaded loaded = load(data);
    ASSERT_EQ(loaded.numbers[0].size() + loaded.numbers[1].size(), 60U);
    float rare = 0, often = 0;
    for (const auto& part : loaded.numbers)
        for (std::size_t i = 0; i < part.size(); i += 2) rare += part[i], often += part[i + 1];
    EXPECT_EQ(rare, 3);
    EXPECT_EQ(often, 15);
    const auto encoding = nlohmann::json::parse(loaded.facts.encoding);
    EXPECT_EQ(encoding["targets"].dump(), R"([{"name":"rare"},{"name":"often"}])");
}

TEST_F(Tables, SeveralColumnsOfNumbersArePredictedTogether) {
    std::string text = "x,\"y, z\",w\n";
    for (int i = 0; i < 30; ++i)
        text += std::to_string(i) + "," + std::to_string(i * 10) + "," + std::to_string(-i) + "\n";
    const DataConfig data = config(text, "w,\"y, z\"");
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->task, Task::regression);
    EXPECT_EQ(shape->outputs, 2);
    EXPECT_EQ(shape->features(), 1);
    EXPECT_THAT(*explain_data(data), Contains("targets: w (-29 to 0), y, z (0 to 290)"));
    const Loaded loaded = load(data);
    // Each is standardised by its own training rows: the second falls as the first rises.
    for (std::size_t i = 0; i < loaded.numbers[0].size(); i += 2)
        EXPECT_NEAR(loaded.numbers[0][i], -loaded.numbers[0][i + 1], 1e-5);
    const auto encoding = nlohmann::json::parse(loaded.facts.encoding);
    EXPECT_EQ(encoding["targets"][1]["name"], "y, z");
    EXPECT_NEAR(encoding["targets"][0]["mean"].get<double>() * -10, encoding["targets"][1]["mean"].get<double>(), 1e-9);
    EXPECT_EQ(describe_data(config(text, "y, z"))->outputs, 1) << "one name needs no quotes";
}

TEST_F(Tables, TargetsThatAreNoLabelsOrNoNumbersAreErrorsWithTheirPlace) {
    const auto refused = [&](const std::string& text, const std::string& target, std::optional<Task> task) {
        DataConfig data = config(text, target);
        data.task = task;
        const auto shape = describe_data(data);
        return shape ? "" : shape.error().message;
    };
    EXPECT_THAT(refused(labelled("2"), "rare, often", Task::multi_label),
                Mentions("line 31, column 4 (rare)", "\"2\"", "neither 0", "nor 1"));
    EXPECT_THAT(refused(labelled(), "c, often", Task::regression), Mentions("line 2, column 3 (c): \"a\""));
    EXPECT_THAT(refused(labelled(), "rare, often", Task::classification), HasSubstr("data.target: 2 columns"));
    EXPECT_THAT(refused(labelled(), "rare, rare", {}), Mentions("\"rare\"", "twice"));
    EXPECT_THAT(refused(labelled(), "rare, rarer", {}), HasSubstr("\"rarer\""));
    EXPECT_THAT(refused("x,a,b\n1,0,0\n2,0,0\n3,0,0\n", "a, b", {}), HasSubstr("learn"));
    DataConfig stratified = config(labelled(), "rare, often");
    stratified.split = SplitKind::stratified;
    EXPECT_THAT(describe_data(stratified).error().message,
                AllOf(StartsWith("data.split: "), Mentions("data.split: stratified", "classes")));
}

TEST_F(Tables, AColumnFromWhichTheTargetFollowsIsTold) {
    std::string classes = "x,renamed,code,split,y\n", numbers = "x,scaled,noisy,y\n";
    for (int i = 0; i < 200; ++i) {
        const int label = i * i % 7 % 2;
        classes += std::to_string(i) + (label == 1 ? ",ja," : ",nein,") + std::to_string(2 * label + 1) + "," +
                   std::to_string(label + 2 * (i % 5)) + "," + std::to_string(label) + "\n";
        const double y = 0.37 * (i * i % 31);
        numbers += std::to_string(i) + "," + std::to_string(5 - 3 * y) + "," + std::to_string(y + i % 2 * 0.01) + "," +
                   std::to_string(y) + "\n";
    }
    const auto warned = [&](const std::string& text) {
        const auto lines = explain_data(config(text, "y"));
        std::vector<std::string> columns;
        const std::string prefix = "warning: the target follows from column ";
        for (const std::string& line : *lines)
            if (line.starts_with(prefix))
                columns.push_back(line.substr(prefix.size(), line.find(' ', prefix.size()) - prefix.size()));
        return columns;
    };
    EXPECT_THAT(warned(classes), ElementsAre("renamed", "code", "split"));  // y is split mod 2
    EXPECT_THAT(warned(numbers), ElementsAre("scaled"));
    EXPECT_THAT(warned("x,y\n1,0\n2,1\n1,0\n2,1\n1,0\n2,1\n"), ElementsAre());  // too few rows to tell
}

}  // namespace
}  // namespace hpo
