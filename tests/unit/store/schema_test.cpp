// Studies of earlier and later versions of hpo.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <fstream>
#include <sstream>

#include "orchestrator/store/event_codec.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Schema : public ::testing::Test {
   protected:
    void sql(const std::string& text) {
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
        char* error = nullptr;
        ASSERT_EQ(sqlite3_exec(database, text.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
        sqlite3_close(database);
    }
    /// Writes a study as version 0.1.0 stored it.
    void old() {
        std::ifstream in(fs::path(testing::source_folder()) / "tests/unit/store/schema_1.sql");
        std::ostringstream text;
        text << in.rdbuf();
        sql(text.str());
        sql("PRAGMA journal_mode = WAL");
    }
    static std::vector<std::string> events(const Store& store) {
        const auto read = store.events(0, 1'000'000);
        EXPECT_TRUE(read) << read.error().message;
        std::vector<std::string> texts;
        if (!read) return texts;
        for (const StoredEvent& stored : *read) {
            const EventRow row = to_row(stored.event);
            texts.push_back(std::to_string(stored.sequence) + " " + std::to_string(stored.time) + " " +
                            std::to_string(row.kind) + " " + std::to_string(row.trial) + " " +
                            std::to_string(row.attempt) + " " + row.body);
        }
        return texts;
    }
    testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "study.db";
};

TEST_F(Schema, AViewerReadsAnOlderStudyAndLeavesItAsItIs) {
    old();
    const auto viewer = open_store_read_only(file_);
    ASSERT_TRUE(viewer) << viewer.error().message;
    EXPECT_EQ(events(**viewer).size(), 32u);
    EXPECT_EQ((*viewer)->steps(4)->size(), 3u);
    StudyRecord record;
    ASSERT_TRUE((*viewer)->read_summary(record));
    EXPECT_EQ(record.summarized, 0);
    EXPECT_FALSE(fs::exists(file_.string() + ".schema-1"));
}

TEST_F(Schema, ARunThatIsRefusedLeavesAnOlderStudyAsItWas) {
    old();
    const auto bytes = [&] {
        std::ifstream in(file_, std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    };
    const std::string before = bytes();
    {
        const auto store = open_store(file_);
        ASSERT_TRUE(store) << store.error().message;
        EXPECT_EQ(events(**store).size(), 32u);
        EXPECT_EQ((*store)->marked_for(), "");
    }
    EXPECT_EQ(bytes(), before);
    EXPECT_FALSE(fs::exists(file_.string() + ".schema-1"));
}

TEST_F(Schema, AnOlderStudyGoesOnAfterACopyWasMadeAndEveryEventIsWhatItWas) {
    old();
    const auto viewer = open_store_read_only(file_);
    ASSERT_TRUE(viewer) << viewer.error().message;
    const auto before = events(**viewer);
    const auto store = open_store(file_);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(events(**store), before);
    ASSERT_TRUE((*store)->set_source("study: old\n"));  // the run is accepted
    EXPECT_EQ(events(**store), before);
    EXPECT_EQ(events(**viewer), before) << "a viewer that was there before reads on";
    EXPECT_EQ((*store)->steps(4)->size(), 3u);
    EXPECT_EQ((*store)->marked_for(), "");
    ASSERT_TRUE((*store)->append(event::Proposed{5, {}, {}}));
    EXPECT_EQ(events(**viewer).size(), before.size() + 1);

    fs::rename(file_.string() + ".schema-1", folder_ / "copy.db");
    const auto copy = open_store_read_only(folder_ / "copy.db");
    ASSERT_TRUE(copy) << copy.error().message;
    EXPECT_EQ(events(**copy), before);
}

TEST_F(Schema, AnOlderStudyThatIsDamagedIsNotMigrated) {
    old();
    sql("UPDATE event SET body = replace(body, '0.9070', '0.1070') WHERE kind = 5");
    const auto store = open_store(file_);
    ASSERT_TRUE(store) << store.error().message;
    const auto accepted = (*store)->set_source("study: old\n");
    ASSERT_FALSE(accepted);
    EXPECT_THAT(accepted.error().message, HasSubstr("corrupt: event 4"));
    const auto viewer = open_store_read_only(file_);
    ASSERT_TRUE(viewer);
    EXPECT_FALSE((*viewer)->events(0, 1000));
    EXPECT_EQ((*viewer)->events(0, 3)->size(), 3u) << "all else is as it was";
}

TEST_F(Schema, ANewerOneIsRefusedByHolderAndViewer) {
    old();
    sql("PRAGMA user_version = 3");
    for (const auto& opened : {open_store(file_), open_store_read_only(file_)}) {
        ASSERT_FALSE(opened);
        EXPECT_THAT(opened.error().message, Mentions("newer", "schema 3", "knows 2"));
    }
}

}  // namespace
}  // namespace hpo
