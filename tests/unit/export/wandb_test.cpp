// The offline runs of W&B: the log of records, by LevelDB's document, and what the records say.
#include <gmock/gmock.h>

#include "hpo/protobuf.hpp"
#include "orchestrator/export/records.hpp"
#include "orchestrator/export/registry.hpp"
#include "support.hpp"

namespace hpo::exporting {
namespace {

namespace fs = std::filesystem;
using protobuf::Fields;
using ::testing::ElementsAre;

/// Reads the records of a log as the document says, and fails where a checksum, a type or the padding is wrong.
std::vector<std::string> records_of(const std::string& log) {
    std::vector<std::string> records;
    EXPECT_EQ(log.substr(0, 7), std::string(":W&B\xe1\xbe\0", 7));
    const auto number = [&](std::size_t at, int size) {
        std::uint64_t value = 0;
        for (int i = 0; i < size; ++i)
            value |= std::uint64_t{static_cast<unsigned char>(log.at(at + std::size_t(i)))} << (8 * i);
        return value;
    };
    bool inside = false;
    for (std::size_t at = 7; at < log.size();) {
        const std::size_t left = 32768 - at % 32768;
        if (left < 7) {
            EXPECT_EQ(log.substr(at, left), std::string(std::min(left, log.size() - at), '\0'));
            at += left;
            continue;
        }
        const std::size_t size = number(at + 4, 2);
        const std::uint64_t part = number(at + 6, 1);
        EXPECT_LE(7 + size, left) << "no part crosses the end of a block";
        EXPECT_EQ(number(at, 4), crc32(log.substr(at + 6, 1 + size)));
        const bool begins = part == 1 || part == 2;
        EXPECT_EQ(begins, !inside) << "part " << part;
        if (begins) records.emplace_back();
        records.back() += log.substr(at + 7, size);
        inside = part == 2 || part == 3;
        at += 7 + size;
    }
    EXPECT_FALSE(inside);
    return records;
}

TEST(Crc32, IsThatOfZlib) {
    EXPECT_EQ(crc32("123456789"), 0xcbf43926U);
    EXPECT_EQ(crc32(""), 0U);
}

TEST(BlockLog, RecordsOfEverySizeAroundABlockAreReadBack) {
    for (const std::size_t first : {0, 1, 32740, 32746, 32747, 32748, 32749, 32750, 32751, 32752, 32753, 32754, 32755,
                                    32761, 32762, 70000, 200000}) {
        BlockLog log;
        const std::vector<std::string> records{std::string(first, 'a'), "second", std::string(40000, 'c'), "", "last"};
        for (const std::string& record : records) log.append(record);
        EXPECT_EQ(records_of(log.bytes()), records) << first;
    }
}

/// The only log in the run of a trial, by the trial's name.
std::map<std::string, std::vector<std::string>> logs_in(const fs::path& root) {
    std::map<std::string, std::vector<std::string>> runs;
    for (const auto& folder : fs::directory_iterator(root)) {
        const std::string name = folder.path().filename().string();
        EXPECT_TRUE(name.starts_with("offline-run-20270115_0800")) << name;
        const std::string id = name.substr(name.rfind('-') + 1);
        const auto records = records_of(text_of(folder.path() / ("run-" + id + ".wandb")));
        std::string trial;
        for (const std::string& record : records)
            for (Fields fields(record); fields.next();)
                if (fields.field() == 17)
                    for (Fields run(fields.bytes()); run.next();) {
                        EXPECT_TRUE(run.field() != 1 || run.text() == id);
                        if (run.field() == 8) trial = run.text();
                    }
        runs[trial] = records;
    }
    return runs;
}

/// The numbers of the kinds of records, in their order.
std::vector<int> kinds_of(const std::vector<std::string>& records) {
    std::vector<int> kinds;
    std::int64_t number = 0;
    for (const std::string& record : records)
        for (Fields fields(record); fields.next();) {
            if (fields.field() != 1) kinds.push_back(fields.field());
            EXPECT_TRUE(fields.field() != 1 || fields.number() == ++number);
        }
    return kinds;
}

/// Keys and values of the items of a kind of record.
std::vector<std::string> items_of(const std::vector<std::string>& records, int kind) {
    std::vector<std::string> items;
    for (const std::string& record : records)
        for (Fields fields(record); fields.next();)
            if (fields.field() == kind)
                for (Fields all(fields.bytes()); all.next();)
                    if (all.field() == 1) {
                        std::string key, json;
                        for (Fields item(all.bytes()); item.next();) (item.field() == 1 ? key : json) = item.text();
                        items.push_back(key + "=" + json);
                    }
    return items;
}

constexpr int history = 2, summary = 3, run = 17, end = 18, last = 20, header = 21, footer = 22;

TEST(Wandb, ATrialIsARunWithItsStepsAndItsEnd) {
    const hpo::testing::TemporaryFolder folder;
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {0.5, std::nan("")}), small_trial(2, TrialState::failed, {}),
                     small_trial(3, TrialState::running, {0.75}), small_trial(4, TrialState::queued, {})};
    record.trials[0].value = 0.5;
    record.trials[0].curve[1].seconds = 2.5;
    const auto written = wandb_format.write(small_study(), record, as_it_is, folder.path(), "/shown");
    ASSERT_TRUE(written) << written.error().message;
    const auto runs = logs_in(folder.path());
    ASSERT_EQ(runs.size(), 2U) << "W&B would take a trial that still runs for failed";
    const auto& first = runs.at("trial 1");
    EXPECT_THAT(kinds_of(first), ElementsAre(header, run, history, history, summary, end, last, footer));
    EXPECT_THAT(items_of(first, history),
                ElementsAre("loss=1.0", "val_loss=0.5", "_step=1", "loss=\"NaN\"", "val_loss=\"NaN\"", "_step=2",
                            "_runtime=2.5", "_timestamp=1800000003.75"));
    EXPECT_THAT(items_of(first, summary), ElementsAre("loss=\"NaN\"", "val_loss=\"NaN\"", "hpo/value=0.5",
                                                      "hpo/trial=1", "hpo/state=\"complete\"", "_step=2"));
    EXPECT_THAT(kinds_of(runs.at("trial 2")), ElementsAre(header, run, summary, end, last, footer));
    const auto code_of = [&](const std::string& trial) {
        std::int64_t code = -1;
        for (const std::string& one : runs.at(trial))
            for (Fields fields(one); fields.next();)
                if (fields.field() == end)
                    for (Fields all(fields.bytes()); all.next();)
                        if (all.field() == 1) code = all.number();
        return code;
    };
    EXPECT_EQ(code_of("trial 1"), 0);
    EXPECT_EQ(code_of("trial 2"), 1);
}

}  // namespace
}  // namespace hpo::exporting
