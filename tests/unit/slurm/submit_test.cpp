#include "orchestrator/slurm/submit.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <map>

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
    EXPECT_TRUE(std::filesystem::exists(job_script(study_.path)));
}

TEST_F(SlurmSubmit, FindsTheJobThatIsThere) {
    slurm_.answers["squeue"] = {queue("12|RUNNING|||node1|None\n")};
    const Placed placed = place();
    EXPECT_EQ(placed.id, "12");
    EXPECT_TRUE(placed.found);
    EXPECT_TRUE(placed.other);  // nobody knows its script
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
    EXPECT_EQ(refusal(),
              "Slurm did not confirm the job (sbatch did not end), and its queue has no hpo-phase1-0: run "
              "again in a minute");
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 3);
}

TEST_F(SlurmSubmit, ARefusalLeavesNothingBehind) {
    slurm_.answers["sbatch --test-only"] = {{.status = 1,
                                             .error = "sbatch: error: invalid partition specified: gpu\nallocation "
                                                      "failure: Invalid partition name specified\n"}};
    slurm_.answers["sinfo"] = {queue("main*|infinite|3|(null)\n")};
    EXPECT_EQ(refusal(), "resources.slurm.partition: Slurm has no partition gpu; it has main");
    EXPECT_EQ(slurm_.count("sbatch --parsable"), 0);
    EXPECT_FALSE(std::filesystem::exists(study_.path.parent_path()));
}

TEST_F(SlurmSubmit, WithoutAnAnswerNothingIsSubmitted) {
    slurm_.answers["squeue"] = {{.hung = true}};
    EXPECT_EQ(refusal(),
              "Slurm does not answer (squeue did not end): try again later, or set HPO_SLURM_TIMEOUT to more than 60s");
    slurm_ = {};
    slurm_.answers["sbatch --test-only"] = {
        {.status = 1, .error = "allocation failure: Unable to contact slurm controller (connect failure)\n"}};
    EXPECT_EQ(refusal(),
              "Slurm does not answer (sbatch: Unable to contact slurm controller (connect failure)): try "
              "again later");
    slurm_ = {};
    slurm_.answers["squeue"] = {{.missing = true}};
    EXPECT_EQ(refusal(), "there is no squeue on PATH: run hpo on a login node, or load the site's module of Slurm");
    EXPECT_FALSE(std::filesystem::exists(study_.path));
}

}  // namespace
}  // namespace hpo::slurm
