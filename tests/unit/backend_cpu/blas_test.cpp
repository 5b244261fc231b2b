// The library of matrix products that a file names, as Accelerate is on macOS: a fake one stands for it.
#include "worker/backends/cpu/blas.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/support/paths.hpp"
#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/backends/cpu/products.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

std::string library(const std::string& name) { return testing::build_folder() + "/tests/support/lib" + name + ".so"; }

template <class T>
T* symbol(const std::string& file, const char* name) {
    return static_cast<T*>(dlsym(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), name));
}

TEST(Blas, ALibraryThatAFileNamesMultipliesInOneThread) {
    const auto loaded = load_blas(library("fake-blas"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->name, "libfake-blas.so");
    EXPECT_EQ(*symbol<int>(library("fake-blas"), "fake_blas_threading"), 1) << "single-threaded";
    const std::vector<float> a{1, 2, 3, 4, 5, 6};   // [2, 3]
    const std::vector<float> b{1, 0, 2, 1, 0, 3};   // [3, 2]
    const std::vector<float> bt{1, 2, 0, 0, 1, 3};  // its transpose, [2, 3]
    std::vector<float> c{1, 1, 1, 1};
    loaded->sgemm(Blas::row_major, Blas::plain, Blas::plain, 2, 2, 3, 1, a.data(), 3, b.data(), 2, 0, c.data(), 2);
    EXPECT_THAT(c, ::testing::ElementsAre(5, 11, 14, 23));
    loaded->sgemm(Blas::row_major, Blas::plain, Blas::transposed, 2, 2, 3, 1, a.data(), 3, bt.data(), 3, 1, c.data(),
                  2);
    EXPECT_THAT(c, ::testing::ElementsAre(10, 22, 28, 46)) << "added";
}

TEST(Blas, AMissingLibraryAndAMissingFunctionAreNamed) {
    const auto missing = load_blas("/nowhere/Accelerate.framework/Accelerate");
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/Accelerate"));
    const auto other = load_blas(library("no-blas"));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().message, library("no-blas") + " has no cblas_sgemm, by which matrices are multiplied");
}

TEST(Blas, OfThisSystemIsOpenBlas) {
    const auto own = own_blas();
    ASSERT_TRUE(own);
    EXPECT_THAT(own->name, ::testing::StartsWith("OpenBLAS "));
}

/// Returns true if a large product, which oneDNN would compute, is right and was computed by the named library.
bool computes_by_the_fake() {
    setenv("HPO_BLAS", library("fake-blas").c_str(), 1);
    constexpr std::int64_t m = 70, n = 130, k = 150;
    const std::vector<float> a(m * k, 0.5F), b(k * n, 2.0F);
    std::vector<float> c(m * n, -1.0F);
    ThreadPool threads;
    multiply(threads, m, n, k, {a.data(), false}, {b.data(), true}, c.data(), Write::set);
    bool right = make_cpu_device()->name().ends_with(", libfake-blas.so");
    for (const float number : c) right = right && number == static_cast<float>(k);
    return right && *symbol<long>(library("fake-blas"), "fake_blas_calls") > 0;
}

int print_what_is_missing() {
    setenv("HPO_BLAS", library("no-blas").c_str(), 1);
    std::fprintf(stderr, "%s\n", blas() ? "loaded" : blas().error().message.c_str());
    return blas() ? 0 : 3;
}

/// Each in a process of its own, since the library is chosen once.
TEST(BlasDeathTest, TheNamedLibraryComputesAllProductsOfTheBackend) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(std::exit(computes_by_the_fake() ? 0 : 1), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(std::exit(print_what_is_missing()), ::testing::ExitedWithCode(3),
                "HPO_BLAS: .*libno-blas.so has no cblas_sgemm");
}

}  // namespace
}  // namespace hpo
