#include "orchestrator/calibration/kept_concurrency.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

struct KeptConcurrency : ::testing::Test {
    testing::TemporaryFolder folder;
    ConcurrencyKey key{"vm, a CPU, 2 cores", "host", "native mlp on cpu"};
    RememberedConcurrency found{{2, {{1, 2, -0.1, 3}, {2, 3, -0.5, 1}}}, {1, {}}};
    std::filesystem::path file = concurrency_file(folder.path(), key);

    void write(const std::string& text) const {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
};

TEST_F(KeptConcurrency, IsReadAsItWasWritten) {
    EXPECT_FALSE(load_concurrency(file, key)) << "there is no file yet";
    ASSERT_TRUE(save_concurrency(file, key, found));
    const auto again = load_concurrency(file, key);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->workers.number, 2);
    ASSERT_EQ(again->workers.changes.size(), 2U);
    EXPECT_EQ(again->workers.changes[0].more, 2);
    EXPECT_DOUBLE_EQ(again->workers.changes[1].log_ratio, -0.5);
    EXPECT_EQ(again->fused.number, 1);
}

TEST_F(KeptConcurrency, OfAnotherMachineDeviceOrKindIsNotUsed) {
    ASSERT_TRUE(save_concurrency(file, key, found));
    for (std::string ConcurrencyKey::*part :
         {&ConcurrencyKey::machine, &ConcurrencyKey::device, &ConcurrencyKey::kind}) {
        ConcurrencyKey other = key;
        other.*part += "x";
        EXPECT_NE(concurrency_file(folder.path(), other), file);
        EXPECT_FALSE(load_concurrency(file, other));
    }
}

TEST_F(KeptConcurrency, ADamagedFileGivesNoNumber) {
    const std::string head = R"({"machine":"vm, a CPU, 2 cores","device":"host","kind":"native mlp on cpu",)";
    const std::string fused = R"("fused":{"number":1,"changes":[]}})";
    write(head + R"("workers":{"number":2,"changes":[]},)" + fused);
    EXPECT_TRUE(load_concurrency(file, key));
    for (const char* workers :
         {R"({"number":0,"changes":[]})", R"({"number":-3,"changes":[]})", R"({"number":1e9,"changes":[]})",
          R"({"number":2,"changes":[[1,2]]})", R"({"number":2,"changes":[[1,2,1e300,1]]})",
          R"({"number":"two","changes":[]})", R"({"number":2})", "null"}) {
        write(head + "\"workers\":" + workers + "," + fused);
        EXPECT_FALSE(load_concurrency(file, key)) << workers;
    }
    for (const char* text : {"", "{", "[]", "7", "\xff\xfe"}) {
        write(text);
        EXPECT_FALSE(load_concurrency(file, key)) << text;
    }
}

TEST_F(KeptConcurrency, AFolderThatCannotBeMadeIsAnErrorThatNamesTheFile) {
    std::ofstream(folder.path() / "concurrency") << "a file";
    const auto saved = save_concurrency(file, key, found);
    ASSERT_FALSE(saved);
    EXPECT_NE(saved.error().message.find(file.string()), std::string::npos);
}

TEST(KindOfTrial, IsTheModelOrTheCommand) {
    Study study;
    study.worker = NativeWorker{};
    EXPECT_EQ(kind_of_trial(study, "opencl"), "native mlp on opencl");
    study.fixed["type"] = std::string("cnn");
    EXPECT_EQ(kind_of_trial(study, "cpu"), "native cnn on cpu");
    study.worker = ScriptWorker{.command = {"python3", "train.py", "{lr}"}};
    study.script()->home = "/work";
    const std::string kind = kind_of_trial(study, "cpu");
    EXPECT_EQ(kind, "script in /work: python3 train.py {lr}");
    study.script()->home = "/other";
    EXPECT_NE(kind_of_trial(study, "cpu"), kind);
}

}  // namespace
}  // namespace hpo
