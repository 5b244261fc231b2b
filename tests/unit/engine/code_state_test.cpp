// The state of the code that a study runs.
#include "orchestrator/engine/code_state.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace hpo {
namespace {

class ChangedFiles : public ::testing::Test {
   protected:
    ChangedFiles() {
        study_.worker = ScriptWorker{};
        auto& script = std::get<ScriptWorker>(study_.worker);
        script.command = {"python3", "train.py", "--data", "data.csv"};
        script.home = folder_.string();
        write("train.py", "print('loss: 1')");
        write("data.csv", "1,2");
    }
    ~ChangedFiles() override { std::filesystem::remove_all(folder_); }

    void write(const char* name, const char* text) const {
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / name) << text;
    }

    std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "hpo-changed-files";
    Study study_;
};

constexpr double long_ago = 0, far_ahead = 1e12;

TEST_F(ChangedFiles, AFileThatWasOnlyTouchedHasNotChanged) {
    const std::string before = fingerprints_of_files(study_);
    EXPECT_NE(before.find(" train.py\n"), std::string::npos) << before;
    write("train.py", "print('loss: 1')");
    EXPECT_EQ(files_changed_since(study_, before, long_ago), std::vector<std::string>{});
}

TEST_F(ChangedFiles, AFileWithOtherBytesHasChangedWheneverItWas) {
    const std::string before = fingerprints_of_files(study_);
    write("train.py", "print('loss: 2')");
    EXPECT_EQ(files_changed_since(study_, before, far_ahead), std::vector<std::string>{"train.py"});
}

TEST_F(ChangedFiles, TheTimeDecidesWhereNoFingerprintIsKnown) {
    EXPECT_EQ(files_changed_since(study_, "", long_ago), (std::vector<std::string>{"train.py", "data.csv"}));
    EXPECT_EQ(files_changed_since(study_, "", far_ahead), std::vector<std::string>{});
}

TEST_F(ChangedFiles, ModulesThatAPythonProgramImportsFromItsFolderCount) {
    std::filesystem::create_directories(folder_ / "parts" / "deep");
    write("train.py",
          "import os, model as m, absent\nfrom parts import (loss,\n    other)\n# import unused\nmodel.fit()");
    write("model.py", "def f():\n    from parts.deep.layer import Layer as L  # within a function");
    write("unused.py", "");
    write("parts/__init__.py", "");
    write("parts/loss.py", "from .deep import layer\nfrom .. import helper\nimport model, train");
    write("parts/deep/layer.py", "import numpy");
    write("helper.py", "");
    const std::string before = fingerprints_of_files(study_);
    std::string names;
    std::istringstream lines(before);
    for (std::string print, name; lines >> print >> name;) names += name + " ";
    EXPECT_EQ(names, "train.py model.py parts/__init__.py parts/loss.py parts/deep/layer.py helper.py data.csv ");
    write("parts/deep/layer.py", "import torch");
    EXPECT_EQ(files_changed_since(study_, before, far_ahead), std::vector<std::string>{"parts/deep/layer.py"});
}

TEST(CodeState, ALongListOfChangedFilesEndsWithALineThatSaysSo) {
    EXPECT_EQ(first_lines(" M a\n M b", 9), " M a\n M b");
    EXPECT_EQ(first_lines(" M a\n M b\n M c", 10), " M a\n M b\n(more)");
    EXPECT_EQ(first_lines("R  one very long line -> another", 10), "(more)");
    EXPECT_EQ(first_lines("", 0), "");
}

}  // namespace
}  // namespace hpo
