#include <gtest/gtest.h>

#include "hpo/worker_key_defaults.hpp"

namespace hpo {
namespace {

bool applies_in(std::string_view key, const Params& configuration) {
    return applies(*find_worker_key(key), configuration);
}

TEST(WorkerKeys, AKeyAppliesWhereTheKeyThatDecidesHasAValueAndAppliesItself) {
    EXPECT_TRUE(applies_in("lr", {}));
    EXPECT_FALSE(applies_in("eta", {}));
    EXPECT_TRUE(applies_in("eta", {{"type", std::string("trees")}}));
    EXPECT_TRUE(applies_in("beta1", {})) << "adamw is the default";
    EXPECT_FALSE(applies_in("beta1", {{"optimizer", std::string("sgd")}}));
    EXPECT_FALSE(applies_in("beta1", {{"type", std::string("trees")}})) << "trees have no optimizer";
    EXPECT_FALSE(applies_in("beta1", {{"type", std::string("trees")}, {"optimizer", std::string("adamw")}}));
}

}  // namespace
}  // namespace hpo
