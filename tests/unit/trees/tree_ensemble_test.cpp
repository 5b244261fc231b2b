#include "worker/trees/tree_ensemble.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace hpo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two outputs: a tree of depth 2 adds to the second one, a leaf alone to the first one.
TreeEnsemble small_ensemble() {
    TreeEnsemble ensemble{2, {0.5F, 0.0F}, {}};
    ensemble.trees.push_back({1, {{0, 1.0F, 1}, {-1, 10.0F, 0}, {1, 2.0F, 3}, {-1, 20.0F, 0}, {-1, 30.0F, 0}}});
    ensemble.trees.push_back({0, {{-1, 0.25F, 0}}});
    return ensemble;
}

std::vector<float> outputs_of(const TreeEnsemble& ensemble, const std::vector<float>& rows) {
    std::vector<float> outputs(rows.size() / static_cast<std::size_t>(ensemble.features) * ensemble.base.size());
    ensemble.predict(rows, outputs);
    return outputs;
}

TEST(TreeEnsemble, ASampleGoesLeftBelowTheThresholdAndRightFromItOn) {
    const float below = std::nextafter(1.0F, 0.0F);
    EXPECT_THAT(outputs_of(small_ensemble(), {below, 9, 1, 1, 1, 2}), ElementsAre(0.75, 10, 0.75, 20, 0.75, 30));
}

TEST(TreeEnsemble, AFeatureThatIsNoNumberGoesRight) {
    const float none = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(outputs_of(small_ensemble(), {none, none}), ElementsAre(0.75, 30));
}

std::map<std::string, StoredTensor, std::less<>> stored(const TreeEnsemble& ensemble) {
    std::vector<std::vector<float>> storage;
    std::map<std::string, StoredTensor, std::less<>> read;
    for (const NamedTensor& tensor : ensemble.tensors(storage))
        read[tensor.name] = {tensor.shape, {tensor.values.begin(), tensor.values.end()}};
    return read;
}

TEST(TreeEnsemble, IsTheSameOnceItWasStored) {
    const auto read = TreeEnsemble::from_tensors(stored(small_ensemble()), 2, 2);
    ASSERT_TRUE(read) << read.error().message;
    const std::vector<float> rows{0, 0, 5, 1, 5, 5};
    EXPECT_EQ(outputs_of(*read, rows), outputs_of(small_ensemble(), rows));
}

TEST(TreeEnsemble, AFileThatWouldLeadAstrayIsRefused) {
    const auto flaw = [](const char* tensor, std::size_t at, float number) {
        auto tensors = stored(small_ensemble());
        tensors[tensor].values[at] = number;
        const auto read = TreeEnsemble::from_tensors(tensors, 2, 2);
        return read ? "" : read.error().message;
    };
    EXPECT_THAT(flaw("trees.nodes", 2, 0), HasSubstr("child"));  // its own parent
    EXPECT_THAT(flaw("trees.nodes", 2, 4), HasSubstr("child"));  // its right one is outside of the tree
    EXPECT_THAT(flaw("trees.nodes", 2, 1.5), HasSubstr("child"));
    EXPECT_THAT(flaw("trees.nodes", 0, 2), HasSubstr("feature"));
    EXPECT_THAT(flaw("trees.nodes", 0, std::nanf("")), HasSubstr("feature"));
    EXPECT_THAT(flaw("trees.trees", 0, 7), HasSubstr("nodes"));
    EXPECT_THAT(flaw("trees.trees", 0, 4), HasSubstr("child"));
    EXPECT_THAT(flaw("trees.trees", 1, 2), HasSubstr("output"));
    auto tensors = stored(small_ensemble());
    tensors["trees.trees"].values.resize(2);
    tensors["trees.trees"].shape[0] = 1;
    EXPECT_THAT(TreeEnsemble::from_tensors(tensors, 2, 2).error().message, HasSubstr("tree"));
    tensors.erase("trees.base");
    EXPECT_THAT(TreeEnsemble::from_tensors(tensors, 2, 2).error().message, HasSubstr("trees.base"));
    EXPECT_FALSE(TreeEnsemble::from_tensors(stored(small_ensemble()), 2, 3));
}

constexpr const char* xgboost_of_three_classes = R"({"learner": {"gradient_booster": {"model": {
    "tree_info": [0, 1, 2, 0, 1, 2],
    "trees": [
      {"left_children": [4, -1, -1, -1, 2], "right_children": [1, -1, -1, -1, 3],
       "split_indices": [1, 0, 0, 0, 0], "split_conditions": [5.0, 3.0, 1.0, 2.0, 4.0]},
      {"left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [7.0]},
      {"left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [8.0]},
      {"left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [100.0]},
      {"left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [100.0]},
      {"left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [100.0]}]}}}})";

TEST(TreesOfXGBoost, AreThoseOfTheFirstRoundsWithTheirClasses) {
    TreeEnsemble ensemble{2, {0, 0, 0}, {}};
    const auto read = append_xgboost(ensemble, xgboost_of_three_classes, 1, 0);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(ensemble.trees.size(), 3U);
    EXPECT_THAT(outputs_of(ensemble, {3, 4, 4, 4, 0, 5}), ElementsAre(1, 7, 8, 2, 7, 8, 3, 7, 8));
    // Children lie behind their parents, side by side, as a file needs them.
    EXPECT_TRUE(TreeEnsemble::from_tensors(stored(ensemble), 2, 3));
}

TEST(TreesOfXGBoost, ThatAreDamagedAreRefused) {
    const auto flaw = [](const std::string& from, const std::string& to) {
        std::string text = xgboost_of_three_classes;
        text.replace(text.find(from), from.size(), to);
        TreeEnsemble ensemble{2, {0, 0, 0}, {}};
        const auto read = append_xgboost(ensemble, text, 2, 0);
        return read ? "" : read.error().message;
    };
    EXPECT_THAT(flaw("[4, -1, -1, -1, 2]", "[4, -1, -1, -1, 9]"), HasSubstr("child"));
    EXPECT_THAT(flaw("[4, -1, -1, -1, 2]", "[4, -1, -1, -1, 4]"), HasSubstr("child"));  // a circle
    EXPECT_THAT(flaw("[1, 0, 0, 0, 0]", "[2, 0, 0, 0, 0]"), HasSubstr("feature"));
    EXPECT_THAT(flaw("[4, -1, -1, -1, 2]", "[4]"), HasSubstr("lengths"));
    EXPECT_THAT(flaw("[0, 1, 2, 0, 1, 2]", "[0, 1, 2, 0, 1, 3]"), HasSubstr("output"));
    EXPECT_THAT(flaw("tree_info", "trees_info"), HasSubstr("read"));
}

}  // namespace
}  // namespace hpo::test
