// Configuration files made from templates, and files with all parameters.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "orchestrator/script/home.hpp"
#include "orchestrator/script/trial_values.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::script {
namespace {

const Params params{{"lr", 1e-05},
                    {"optimizer.name", std::string("a \"b\": 'c'")},
                    {"deep", true},
                    {"hidden", std::vector<std::int64_t>{64, 32}},
                    {"clip", JsonText{"null"}},
                    {"optimizer.betas", JsonText{"[0.9, 0.999]"}}};

std::string filled(const std::string& text, Format format) {
    return fill_file(text, format, [](const std::string& name) -> std::optional<Value> {
        const auto found = params.find(name);
        return found == params.end() ? std::nullopt : std::optional(found->second);
    });
}

TEST(TrialFile, WritesValuesInTheSyntaxOfTheFormat) {
    EXPECT_EQ(filled("lr: {lr}\nname: {optimizer.name}\nh: {hidden}\ndeep: {deep}", Format::yaml),
              "lr: 1.0e-05\nname: \"a \\\"b\\\": 'c'\"\nh: [64, 32]\ndeep: true");
    EXPECT_EQ(filled("{\"lr\": {lr}, \"name\": {optimizer.name}, \"b\": {optimizer.betas}}", Format::json),
              "{\"lr\": 1.0e-05, \"name\": \"a \\\"b\\\": 'c'\", \"b\": [0.9, 0.999]}");
    EXPECT_EQ(filled("lr = {lr} {optimizer.name}\n", Format::text), "lr = 1e-05 a \"b\": 'c'\n");
}

TEST(TrialFile, EscapesForTheQuotesAroundThePlaceholder) {
    EXPECT_EQ(filled("a: \"x {optimizer.name}\"", Format::yaml), "a: \"x a \\\"b\\\": 'c'\"");
    EXPECT_EQ(filled("a: 'x {optimizer.name}'", Format::yaml), "a: 'x a \"b\": ''c'''");
    EXPECT_EQ(filled("a: it's {lr}", Format::yaml), "a: it's 1.0e-05") << "an apostrophe opens no quote";
    EXPECT_EQ(filled("a: runs/{lr}/x", Format::yaml), "a: runs/1e-05/x") << "part of a plain text";
}

TEST(TrialFile, BracesWithoutANameAndDoubledBracesAreText) {
    EXPECT_EQ(filled("a: {b: {lr}}\nc: {{lr}}", Format::yaml), "a: {b: 1.0e-05}\nc: {lr}");
}

TEST(TrialFile, AParameterWithoutAValueIsNullOrItsLineIsOmitted) {
    EXPECT_EQ(filled("clip: {clip}\nm: {momentum}\n", Format::yaml), "clip: null\nm: null\n");
    EXPECT_EQ(filled("a = 1\nclip = {clip}\nm = {momentum}\nlr = {lr}\n", Format::toml), "a = 1\nlr = 1.0e-05\n");
}

TEST(TrialFile, AllParametersAreNestedAtTheDotsOfTheirNames) {
    EXPECT_EQ(params_text(params, Format::yaml),
              "clip: null\ndeep: true\nhidden: [64, 32]\nlr: 1.0e-05\noptimizer:\n  betas: [0.9, 0.999]\n"
              "  name: \"a \\\"b\\\": 'c'\"\n");
    EXPECT_EQ(params_text({{"a.b.c", std::int64_t{1}}, {"a.d", false}}, Format::json),
              "{\n  \"a\": {\n    \"b\": {\n      \"c\": 1\n    },\n    \"d\": false\n  }\n}\n");
    EXPECT_EQ(params_text({{"on", std::int64_t{1}}}, Format::yaml), "\"on\": 1\n") << "YAML 1.1 takes it for true";
    EXPECT_EQ(params_text({}, Format::yaml), "{}\n");
    EXPECT_EQ(clash_of_names({{"a", 1.0}, {"a.b", 1.0}}), "a");
    EXPECT_EQ(clash_of_names({{"ab", 1.0}, {"a.b", 1.0}}), "");
}

TEST(TrialFile, IsWrittenIntoTheTrialsFolderAndReplacedByItsPath) {
    const hpo::testing::TemporaryFolder folder;
    to_worker::Run run;
    run.params = {{"optimizer.lr", 0.5}};
    run.folder = folder.path().string();
    TrialValues values(run, "/study");
    EXPECT_EQ(values("params:c.yaml"), run.folder + "/c.yaml");
    EXPECT_EQ(values("home"), "/study");
    std::stringstream text;
    text << std::ifstream(run.folder + "/c.yaml").rdbuf();
    EXPECT_EQ(text.str(), "optimizer:\n  lr: 0.5\n");
    EXPECT_EQ(values.problem(), "");
    run.folder += "/gone";
    values("params_file");
    EXPECT_THAT(values.problem(), ::testing::HasSubstr("write"));
}

TEST(UnusedParameters, AreTheParametersThatNothingRefersTo) {
    const hpo::testing::TemporaryFolder folder;
    std::ofstream(folder / "train.py") << "import os\nos.environ['HPO_PARAM_WIDTH']\n";
    Study study;
    for (const char* name : {"lr", "wd", "width", "depth", "tied", "seed"})
        study.space.push_back(Dimension{.name = name});
    study.worker = ScriptWorker{.command = {"python3", "train.py", "{lr}", "--x=$HPO_PARAM_DEPTH", "{flag:tied:-t}"}};
    study.script()->home = folder.path().string();
    EXPECT_TRUE(unused_parameters(study).empty()) << "a script that speaks the protocol gets them all";
    study.script()->metrics.emplace();
    EXPECT_EQ(unused_parameters(study), std::vector<std::string>{"wd"});
    study.script()->files["config.yaml"] = {"", "wd: {wd}"};
    EXPECT_TRUE(unused_parameters(study).empty());
    study.script()->files.clear();
    study.script()->command.emplace_back("{params:all.yaml}");
    EXPECT_TRUE(unused_parameters(study).empty());
}

}  // namespace
}  // namespace hpo::script
