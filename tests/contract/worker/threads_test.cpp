// Trials on several threads of the CPU; those of convolution networks are in cnn_trial_test.cpp.
#include "tests/contract/worker/threads.hpp"

namespace hpo::test {
namespace {

Params wide_params(const Params& changes) {
    return with(small_params(), with({{"features", std::int64_t{300}},
                                      {"hidden", std::vector<std::int64_t>{340, 200}},
                                      {"batch_size", std::int64_t{450}}},
                                     changes));
}

TEST(Threads, GiveAPerceptronTheSameBits) {
    for (const char* norm : {"none", "layer", "batch"})
        for (const char* optimizer : {"adamw", "sgd"}) {
            SCOPED_TRACE(std::string(norm) + ", " + optimizer);
            expect_the_same_on_any_number_of_threads(
                wide_params({{"norm", std::string(norm)},
                             {"optimizer", std::string(optimizer)},
                             {"activation", std::string("gelu")},
                             {"accumulation", std::int64_t{*norm == 'l' ? 2 : 1}}}));
        }
}

TEST(Threads, GiveProductsInBfloat16TheSameBits) {
    if (!WorkerFixture().device->computes_in(Precision::bfloat16)) return;  // no trial can ask for them
    for (const char* optimizer : {"lion", "muon"})
        expect_the_same_on_any_number_of_threads(
            wide_params({{"precision", std::string("bfloat16")}, {"optimizer", std::string(optimizer)}}));
}

Params sequences(const char* type, const Params& changes) {
    return with({{"format", std::string("synthetic")},
                 {"samples", std::int64_t{80}},
                 {"steps", std::int64_t{70}},
                 {"vocabulary", std::int64_t{40}},
                 {"type", std::string(type)},
                 {"width", std::int64_t{96}},
                 {"dropout", 0.1},
                 {"batch_size", std::int64_t{32}},
                 {"lr", 0.005}},
                changes);
}

TEST(Threads, GiveATransformerTheSameBits) {
    expect_the_same_on_any_number_of_threads(sequences("transformer", {{"heads", std::int64_t{4}},
                                                                       {"kv_heads", std::int64_t{2}},
                                                                       {"depth", std::int64_t{2}},
                                                                       {"activation", std::string("swiglu")},
                                                                       {"norm", std::string("rms")},
                                                                       {"positions", std::string("rotary")}}));
}

TEST(Threads, GiveARecurrentNetworkTheSameBits) {
    for (const char* type : {"gru", "lstm"}) expect_the_same_on_any_number_of_threads(sequences(type, {}));
}

}  // namespace
}  // namespace hpo::test
