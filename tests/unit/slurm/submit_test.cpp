#include "orchestrator/slurm/submit.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "orchestrator/slurm/study_job.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::slurm {
namespace {

/// Answers from lists, one for each command, and repeats the last answer of a list.
class ScriptedSlurm final : public Commands {
   public:
    std::map<std::string, std::deque<Answer>> answers;
    std::vector<std::string> ran;
    double paused = 0;

    Answer run(const std::vector<std::string>& command) override {
        std::string name = command.front();
        if (name == "sbatch") name += ' ' + command.at(1);
        if (name == "scancel") name += ' ' + command.at(1);
        ran.push_back(name);
        auto& all = answers[name];
        if (all.empty()) return {.status = 0};
        const Answer answer = all.front();
        if (all.size() > 1) all.pop_front();
        return answer;
    }
    void pause(Seconds time) override { paused += time.count(); }
    [[nodiscard]] std::ptrdiff_t count(const std::string& name) const {
        return std::count(ran.begin(), ran.end(), name);
    }
};

const Answer empty_queue{.status = 0};
Answer queue(const std::string& lines) { return {.status = 0, .out = lines}; }
Answer refused(const std::string& message) {
    return {.status = 1, .error = "sbatch: error: Batch job submission failed: " + message + '\n'};
}

class SlurmSubmit : public ::testing::Test {
   protected:
    testing::TemporaryFolder folder_;
    StudyFolder study_{folder_.path() / "runs" / "phase1"};
    ScriptedSlurm slurm_;
    std::vector<std::string> said_;
    Job job_{.name = "hpo-phase1-0", .words = {"--job-name=hpo-phase1-0"}, .script = "#!/bin/sh\n"};

    Placed place() {
        return find_or_submit(slurm_, {.partition = "gpu"}, job_, study_,
                              [this](const std::string& text) { said_.push_back(text); });
    }
    std::string refusal() {
        try {
            place();
        } catch (const Fatal& fatal) {
            EXPECT_EQ(fatal.exit_code(), 2);
            return fatal.what();
        }
        return "(submitted)";
    }
};

TEST_F(SlurmSubmit, SubmitsOnce) {
    slurm_.answers["sbatch --parsable"] = {{.status = 0, .out = "12\n"}};
    const Placed placed = place();
    EXPECT_EQ(placed.id, "12");
    EXPECT_FALSE(placed.found);
    EXPECT_EQ(slurm_.ran, (std::vector<std::string>{"squeue", "sbatch --test-only", "sinfo", "sbatch --parsable"}));
    EXPECT_TRUE(std::filesystem::exists(study_.job_script()));
}

TEST_F(SlurmSubmit, FindsTheJobThatIsThere) {
    slurm_.answers["squeue"] = {queue("12|RUNNING|||node1|None\n")};
    const Placed placed = place();
    EXPECT_EQ(placed.id, "12");
    EXPECT_TRUE(placed.found);
    EXPECT_FALSE(placed.other) << "nobody knows its script";
    EXPECT_EQ(slurm_.count("scontrol"), 1);
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 0);
}

TEST_F(SlurmSubmit, WaitsForTheEndOfAJobThatIsEnding) {
    slurm_.answers["squeue"] = {queue("12|COMPLETING|||node1|None\n"), queue("12|COMPLETING|||node1|None\n"),
                                empty_queue, queue("13|PENDING||||None\n")};
    slurm_.answers["sbatch --parsable"] = {{.status = 0, .out = "13\n"}};
    const Placed placed = place();
    EXPECT_EQ(placed.id, "13");
    EXPECT_FALSE(placed.found);
    slurm_ = {};
    slurm_.answers["squeue"] = {queue("12|COMPLETING|||node1|None\n"), queue("12|PENDING||||None\n")};
    EXPECT_TRUE(place().found) << "it was queued again";
}

TEST_F(SlurmSubmit, ALostReplyIsFoundByTheName) {
    for (const Answer& lost : {Answer{.hung = true}, refused("Socket timed out on send/recv operation"), empty_queue}) {
        slurm_ = {};
        slurm_.answers["squeue"] = {empty_queue, empty_queue, queue("12|PENDING||||None\n")};
        slurm_.answers["sbatch --parsable"] = {lost};
        EXPECT_EQ(place().id, "12");
        EXPECT_EQ(slurm_.count("sbatch --parsable"), 1);
        EXPECT_GT(slurm_.paused, 0);
        EXPECT_FALSE(said_.empty());
    }
}

TEST_F(SlurmSubmit, ALostReplyOfAJobThatIsOverAlreadyIsFound) {
    const std::string before = "11|COMPLETED||||None\n";
    slurm_.answers["squeue"] = {queue(before), queue(before + "12|COMPLETED||||None\n")};
    slurm_.answers["sbatch --parsable"] = {{.hung = true}};
    EXPECT_EQ(place().id, "12");
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 1);
}

TEST_F(SlurmSubmit, AJobThatDidNotArriveIsSubmittedAgain) {
    slurm_.answers["sbatch --parsable"] = {{.hung = true}, {.status = 0, .out = "13\n"}};
    slurm_.answers["squeue"] = {empty_queue, empty_queue, empty_queue,
                                empty_queue, empty_queue, queue("12|RUNNING|||node1|None\n13|PENDING||||Dependency\n")};
    EXPECT_EQ(place().id, "12");  // the first had arrived after all: the second is one too many
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 2);
    EXPECT_EQ(slurm_.count("scancel 13"), 1);
}

TEST_F(SlurmSubmit, BelievesALaterReply) {
    slurm_.answers["sbatch --parsable"] = {{.hung = true}, {.status = 0, .out = "13\n"}};
    EXPECT_EQ(place().id, "13");
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 2);
}

TEST_F(SlurmSubmit, GivesUpAfterSeveralLostReplies) {
    slurm_.answers["sbatch --parsable"] = {{.hung = true}};
    EXPECT_THAT(refusal(), MentionsInOrder("not confirm", "(sbatch", "not end", "no hpo-phase1-0", "minute"));
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 3);
}

TEST_F(SlurmSubmit, ARefusalLeavesNothingBehind) {
    slurm_.answers["sbatch --test-only"] = {{.status = 1,
                                             .error = "sbatch: error: invalid partition specified: gpu\nallocation "
                                                      "failure: Invalid partition name specified\n"}};
    slurm_.answers["sinfo"] = {queue("main*|infinite|3|(null)\n")};
    EXPECT_THAT(refusal(), MentionsInOrder("resources.slurm.partition: ", "no partition", "gpu; ", "main"));
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 0);
    EXPECT_FALSE(std::filesystem::exists(study_.path.parent_path()));
}

TEST_F(SlurmSubmit, WithoutAnAnswerNothingIsSubmitted) {
    slurm_.answers["squeue"] = {{.hung = true, .limit = Seconds(2)}};
    EXPECT_THAT(refusal(), MentionsInOrder("(squeue", "not end", "2s)", "HPO_SLURM_TIMEOUT", "more"));
    slurm_ = {};
    slurm_.answers["sbatch --test-only"] = {
        {.status = 1, .error = "allocation failure: Unable to contact slurm controller (connect failure)\n"}};
    EXPECT_EQ(refusal(),
              "Slurm does not answer (sbatch: Unable to contact slurm controller (connect failure)): try "
              "again later");
    slurm_ = {};
    slurm_.answers["squeue"] = {{.missing = true}};
    EXPECT_THAT(refusal(), Mentions("no squeue", "PATH", "login", "module"));
    EXPECT_FALSE(std::filesystem::exists(study_.path));
}

TEST_F(SlurmSubmit, AJobOfAnotherStudyFileIsToldApart) {
    slurm_.answers["squeue"] = {queue("12|RUNNING|||node1|None\n")};
    const auto script = [](const char* options) {
        return std::string("# hpo run compares: options ") + options + " file 2\nexec hpo\n";
    };
    std::filesystem::create_directories(study_.path);
    std::ofstream(study_.job_script()) << script("1");
    job_.script = script("1") + "exec /other/hpo\n";
    EXPECT_FALSE(place().other);
    job_.script = script("3");
    EXPECT_TRUE(place().other);
}

/// Another process, whose job Slurm refuses, removes the folder while this one waits for its lock.
class RefusedNeighbour final : public Commands {
   public:
    explicit RefusedNeighbour(const StudyFolder& folder) : folder_(folder.path) {
        std::filesystem::create_directories(folder_);
        lock_ = ::open((folder_ / "slurm.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        EXPECT_EQ(::flock(lock_, LOCK_EX), 0);
    }
    Answer run(const std::vector<std::string>& command) override {
        const bool submits = command.front() == "sbatch" && command.at(1) == "--parsable";
        EXPECT_TRUE(!submits || std::filesystem::exists(command.back())) << command.back();
        return {.status = 0, .out = submits ? "12\n" : ""};
    }
    void pause(Seconds) override {
        if (lock_ < 0) return;
        std::filesystem::remove_all(folder_.parent_path());
        ::close(std::exchange(lock_, -1));
    }

   private:
    std::filesystem::path folder_;
    int lock_;
};

TEST_F(SlurmSubmit, WaitsForOneThatIsRefusedAndSubmitsItsOwnScript) {
    RefusedNeighbour neighbour(study_);
    EXPECT_EQ(find_or_submit(neighbour, {}, job_, study_, [](const std::string&) {}).id, "12");
    EXPECT_TRUE(std::filesystem::exists(study_.job_script()));
}

/// This process is told to end while sbatch runs.
class AbandonedSlurm final : public Commands {
   public:
    bool gives_up = false;
    Answer run(const std::vector<std::string>& command) override {
        if (command.front() == "sbatch" && command.at(1) == "--parsable") gives_up = true;
        return gives_up ? Answer{.hung = true} : Answer{.status = 0};
    }
    void pause(Seconds) override {}
    [[nodiscard]] bool gave_up() const override { return gives_up; }
};

TEST_F(SlurmSubmit, AFolderThatAJobMayWriteToStays) {
    AbandonedSlurm slurm;
    EXPECT_THROW(find_or_submit(slurm, {}, job_, study_, [](const std::string&) {}), Fatal);
    EXPECT_TRUE(std::filesystem::exists(study_.path));
}

TEST_F(SlurmSubmit, AStudyWithAJobIsNotRemovedOrMoved) {
    const auto refusal_to_change = [&]() -> std::string {
        try {
            refuse_change_under_job(slurm_, study_);
        } catch (const Fatal& fatal) {
            return fatal.what();
        }
        return "";
    };
    slurm_.answers["squeue"] = {queue("11|FAILED||||None\n12|PENDING||||Priority\n")};
    EXPECT_EQ(refusal_to_change(), "") << "none was submitted";
    EXPECT_TRUE(slurm_.ran.empty());
    std::filesystem::create_directories(study_.path);
    std::ofstream(study_.job_script()) << "#!/bin/sh\n";
    EXPECT_EQ(refusal_to_change(),
              "study phase1 has a job in Slurm's queue, 12: cancel it first (" + cancelling(study_) + ")");
    slurm_.answers["squeue"] = {queue("11|FAILED||||None\n12|COMPLETED||||None\n")};
    EXPECT_EQ(refusal_to_change(), "");
    slurm_.answers["squeue"] = {{.missing = true}};
    EXPECT_EQ(refusal_to_change(), "") << "this machine has no Slurm";
    slurm_.answers["squeue"] = {{.hung = true, .limit = Seconds(2)}};
    EXPECT_EQ(refusal_to_change().substr(0, 60), "whether a job waits to run study phase1 is not known: Slurm ");
}

TEST_F(SlurmSubmit, AStudyHasTheSameJobByEveryPath) {
    std::filesystem::create_directories(study_.path);
    std::filesystem::create_directory_symlink(study_.path.parent_path(), folder_.path() / "link");
    EXPECT_EQ(job_name_of({folder_.path() / "link" / "phase1"}), job_name_of(study_));
    EXPECT_EQ(job_name_of({folder_.path() / "link" / ".." / "runs" / "phase1"}), job_name_of(study_));
    EXPECT_NE(job_name_of({folder_.path() / "phase1"}), job_name_of(study_));
}

}  // namespace
}  // namespace hpo::slurm
