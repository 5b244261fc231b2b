#include <gtest/gtest.h>

#include "worker/backends/tensor.hpp"

namespace hpo {
namespace {

TEST(Layout, PlacesEachReplicaOfEachTensorAtAMultipleOf64Bytes) {
    Layout layout(3);
    layout.add(Type::u8, 1, 1);
    const Tensor tensor = layout.add(Type::f32, 5, 7);
    EXPECT_EQ(tensor.offset, 3 * 64U);
    EXPECT_EQ(tensor.replica_stride, 192U);
    EXPECT_EQ(tensor.bytes(), 140U);
    EXPECT_EQ(layout.bytes(), 3 * 64U + 3 * 192U);
}

TEST(Layout, PutsTheNumbersOfAReplicaArraySideBySide) {
    Layout layout(20);
    const Tensor array = layout.add_per_replica(Type::u64);
    EXPECT_EQ(array.replica_stride, 8U);
    EXPECT_EQ(array.elements(), 1);
    EXPECT_EQ(layout.bytes(), std::size_t{max_replicas} * 8);
}

TEST(Tensor, SlicesStayInTheirReplica) {
    Layout layout(2);
    const Tensor block = layout.add(Type::f32, 1, 100);
    const Tensor matrix = block.slice(20, 4, 5);
    EXPECT_EQ(matrix.offset, block.offset + 80);
    EXPECT_EQ(matrix.replica_stride, block.replica_stride);
    EXPECT_EQ(matrix.first_rows(2).elements(), 10);
    EXPECT_EQ(matrix.first_rows(2).offset, matrix.offset);
    EXPECT_EQ(block.at(7).offset, block.offset + 28);
    EXPECT_FALSE(Tensor{});
    EXPECT_TRUE(matrix);
}

}  // namespace
}  // namespace hpo
