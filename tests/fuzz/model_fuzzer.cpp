// Files of models for hpo predict. Trees are followed to their leaves.
#include <cstdint>
#include <string_view>
#include <vector>

#include "worker/prediction/saved_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto model = hpo::parse_saved_model({reinterpret_cast<const char*>(data), size});
    constexpr std::int64_t most = 1 << 16;
    if (!model || !model->trees || model->trees->features > most || model->shape.outputs > most) return 0;
    std::vector<float> outputs(model->trees->base.size());
    for (const float number : {-1e30F, 0.0F, 1e30F})
        model->trees->predict(std::vector<float>(static_cast<std::size_t>(model->trees->features), number), outputs);
    return 0;
}
