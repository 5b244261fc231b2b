// Files of models for hpo predict.
#include <cstdint>
#include <string_view>

#include "worker/prediction/saved_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)hpo::parse_saved_model({reinterpret_cast<const char*>(data), size});
    return 0;
}
