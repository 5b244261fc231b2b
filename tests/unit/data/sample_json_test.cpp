#include "worker/data/sample_json.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

DataShape shape_of(const SampleShape& sample) {
    DataShape shape;
    shape.sample = sample;
    return shape;
}

TEST(SampleJson, ReadsWhatItWrote) {
    for (DataShape shape : {shape_of(VectorShape{7}), shape_of(ImageShape{28, 30, 3}), shape_of(SequenceShape{4, 9}),
                            shape_of(TokenShape{16, 50'000})}) {
        shape.target_per_step = std::holds_alternative<TokenShape>(shape.sample);
        if (std::holds_alternative<VectorShape>(shape.sample)) shape.categories = {{1, 3}, {4, 2}};
        const auto read = parse_sample_json(sample_json(shape));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->sample, shape.sample);
        EXPECT_EQ(read->categories, shape.categories);
        EXPECT_EQ(read->target_per_step, shape.target_per_step);
    }
}

TEST(SampleJson, RefusesExtentsOutOfRange) {
    for (const char* text :
         {"", "[]", "{}", R"({"kind":"vector","features":0,"target_per_step":false})",
          R"({"kind":"vector","features":-4,"target_per_step":false})",
          R"({"kind":"vector","features":1.5,"target_per_step":false})",
          R"({"kind":"cube","features":4,"target_per_step":false})", R"({"kind":"vector","features":4})",
          R"({"kind":"image","height":65536,"width":65536,"channels":3,"target_per_step":false})",
          R"({"kind":"vector","features":4,"categories":[[3,2]],"target_per_step":false})",
          R"({"kind":"vector","features":4,"categories":[[2,2],[1,1]],"target_per_step":false})"}) {
        const auto read = parse_sample_json(text);
        ASSERT_FALSE(read) << text;
        EXPECT_TRUE(read.error().message.starts_with("input: ")) << read.error().message;
    }
}

}  // namespace
}  // namespace hpo
