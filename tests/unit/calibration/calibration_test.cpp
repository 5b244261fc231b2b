#include "orchestrator/calibration/calibration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

MeasuredProduct square(std::int64_t size, double seconds, const std::string& precision = "float32") {
    const auto n = static_cast<double>(size);
    MeasuredProduct product{precision, size, size, size, 1, 2 * n * n * n, 12 * n * n, {}, {}};
    if (seconds > 0) product.time = MeasuredTime{seconds, seconds, seconds};
    return product;
}

DeviceCalibration device(std::vector<MeasuredProduct> products) {
    DeviceCalibration calibration;
    calibration.products = std::move(products);
    return calibration;
}

const std::string lines =
    R"({"measured":"device","backend":"cpu","name":"cpu, x","identity":"hpo 1; cpu, x","remark":"slow"}
{"measured":"launch","seconds":1e-6,"least":1e-7,"most":1e-5}
{"measured":"memory","bytes":1000,"seconds":0.5,"least":0.4,"most":0.6}
{"measured":"of a later version","what":1}
{"measured":"product","precision":"float32","rows":4,"inputs":5,"outputs":6,"replicas":2,"flops":480,"bytes":100,"seconds":0.5,"least":0.5,"most":0.5}
{"measured":"product","precision":"bfloat16","rows":4,"inputs":5,"outputs":6,"replicas":2,"flops":480,"bytes":50,"left_out":"it needs 9 MiB"}
)";

TEST(Calibration, ReadsTheWorkersLinesAndIgnoresWhatItDoesNotKnow) {
    const auto read = read_calibration(lines, "cpu");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->device, "cpu");
    EXPECT_EQ(read->identity, "hpo 1; cpu, x");
    EXPECT_EQ(read->remark, "slow");
    EXPECT_DOUBLE_EQ(read->launch->seconds, 1e-6);
    EXPECT_DOUBLE_EQ(read->memory_rate, 2000);
    EXPECT_EQ(read->rate_to_host, 0);
    ASSERT_EQ(read->products.size(), 2U);
    EXPECT_DOUBLE_EQ(read->products[0].rate(), 960);
    EXPECT_DOUBLE_EQ(read->products[0].bytes, 100);
    EXPECT_EQ(read->products[1].left_out, "it needs 9 MiB");
    EXPECT_EQ(read->precisions(), (std::vector<std::string>{"float32", "bfloat16"}));
    EXPECT_DOUBLE_EQ(read->peak("float32"), 960);
    EXPECT_EQ(read->peak("bfloat16"), 0);
}

TEST(Calibration, LinesThatCannotBeMeasurementsAreRefusedWithTheirNumber) {
    const auto reason = [](const std::string& text) {
        const auto read = read_calibration(text, "cuda 0");
        return read ? std::string("none") : read.error().message;
    };
    EXPECT_THAT(reason(lines + "{\"measured\":"), Mentions("line 7", "cuda 0"));
    EXPECT_THAT(reason(lines + R"({"measured":"launch","seconds":0,"least":1,"most":1})"), Mentions("above 0"));
    EXPECT_THAT(reason(lines + R"({"measured":"launch","least":1,"most":1})"), HasSubstr("line 7"));
    EXPECT_THAT(reason("[]"), HasSubstr("line 1"));
    EXPECT_THAT(reason(""), Mentions("measurements", "cuda 0"));
}

TEST(Calibration, TheCrossoverIsTheSizeFromWhichOnAllLargerSquaresAreFaster) {
    const auto base = device({square(256, 1), square(512, 2), square(1024, 3), square(4096, 40)});
    // Faster by chance at 256, slower at 512.
    const auto other = device({square(256, 0.9), square(512, 2.5), square(1024, 1.5), square(4096, 4)});
    const auto found = crossover(base, other, "float32");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size, 1024);
    EXPECT_DOUBLE_EQ(found->there, 2);
    EXPECT_DOUBLE_EQ(found->last, 10);
    EXPECT_EQ(found->last_size, 4096);
}

TEST(Calibration, WhereTheLargestSquareIsSlowerThereIsNoCrossover) {
    const auto found =
        crossover(device({square(256, 1), square(512, 1)}), device({square(256, 0.5), square(512, 2)}), "float32");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size, 0);
    EXPECT_DOUBLE_EQ(found->last, 0.5);
}

TEST(Calibration, SquaresThatWereLeftOutAreNotCompared) {
    const auto base = device({square(256, 1), square(512, 0)});
    EXPECT_EQ(crossover(base, device({square(256, 0.5), square(512, 1)}), "float32")->last_size, 256);
    EXPECT_FALSE(crossover(base, device({square(512, 1)}), "float32"));
    EXPECT_FALSE(crossover(base, device({square(256, 1, "tf32")}), "tf32"));
}

TEST(KeptCalibration, IsReadOnTheMachineThatItWasMadeOnAlone) {
    testing::TemporaryFolder folder;
    const auto file = calibration_file(folder.path(), "host", "cuda 0", "GPU-1/2");
    EXPECT_EQ(file.filename(), "host-cuda_0-GPU_1_2.jsonl");
    EXPECT_FALSE(load_calibration(file, "host, Imaginary CPU"));
    ASSERT_TRUE(save_calibration(file, "host, Imaginary CPU", lines));
    const auto kept = load_calibration(file, "host, Imaginary CPU");
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->identity, "hpo 1; cpu, x");
    EXPECT_EQ(kept->lines, lines);
    EXPECT_FALSE(load_calibration(file, "host, another CPU"));
}

TEST(KeptCalibration, ADamagedFileIsAsIfThereWereNone) {
    testing::TemporaryFolder folder;
    const auto file = folder.path() / "file";
    for (const std::string& text :
         {std::string("x"), std::string("[1]\n") + lines, std::string(R"({"machine":5})") + "\n" + lines,
          std::string("{\"machine\":\"m\"}\n"), "{\"machine\":\"m\"}\n" + lines.substr(0, lines.size() - 20)}) {
        std::ofstream(file) << text;
        EXPECT_FALSE(load_calibration(file, "m")) << text;
    }
}

TEST(KeptCalibration, WhatCannotBeWrittenIsAnErrorWithTheFile) {
    testing::TemporaryFolder folder;
    std::ofstream(folder.path() / "file") << "";
    const auto saved = save_calibration(folder.path() / "file" / "below", "m", lines);
    ASSERT_FALSE(saved);
    EXPECT_THAT(saved.error().message, HasSubstr("kept"));
}

}  // namespace
}  // namespace hpo
