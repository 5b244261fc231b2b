#include <gtest/gtest.h>

#include "worker/models/registry.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using List = std::vector<std::int64_t>;

DataShape shape_of(std::int64_t features, std::int64_t classes) {
    DataShape shape;
    shape.sample = VectorShape{features};
    shape.outputs = classes;
    return shape;
}

std::string error_of(const Params& params) {
    const auto model = make_model(params, shape_of(784, 10));
    return model ? "" : model.error().message;
}

TEST(MakeModel, TakesWidthAndDepthOrTheirDefaultsInPlaceOfHidden) {
    EXPECT_EQ((*make_model({}, shape_of(784, 10)))->block().count(), 784 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
    const auto model = make_model({{"width", std::int64_t{8}}, {"depth", std::int64_t{3}}}, shape_of(5, 2));
    EXPECT_EQ((*model)->block().count(), 5 * 8 + 8 + 2 * (8 * 8 + 8) + 8 * 2 + 2);
    EXPECT_EQ((*make_model({{"depth", std::int64_t{0}}}, shape_of(5, 2)))->block().count(), 5 * 2 + 2);
}

TEST(MakeModel, NamesTheKeyAndWhatItMayBe) {
    EXPECT_EQ(error_of({{"activation", std::string("tanh")}}),
              "model.activation: tanh is not one of relu|gelu|silu|swiglu");
    EXPECT_THAT(error_of({{"hidden", List{128, 0}}}),
                MentionsInOrder("model.hidden: [128, 0]", "list", "at most 64", "whole", "1 to 65536"));
    EXPECT_THAT(error_of({{"width", 2.5}}), MentionsInOrder("model.width: 2.5", "whole", "1 to 65536"));
    EXPECT_EQ(error_of({{"norm", true}}), "model.norm: true is not one of none|layer|rms|group|batch");
    EXPECT_EQ(error_of({{"type", std::string("rnn")}}),
              "model.type: rnn is not one of mlp|cnn|transformer|gru|lstm|trees");
}

}  // namespace
}  // namespace hpo
