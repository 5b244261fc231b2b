// Products of bfloat16 matrices on the CPU, by AMX tiles (Intel: "Intel architecture instruction set extensions
// programming reference", chapter 3), which Intel's server CPUs have from Sapphire Rapids on.
#pragma once

#include <cstdint>
#include <memory>

namespace hpo {

/// To nearest, ties to even; subnormal numbers become 0. Needs the tiles (cpu_device.hpp, has_bfloat16_tiles).
void round_to_bfloat16(std::int64_t count, const float* from, std::uint16_t* to);

/// A dense row-major matrix of bfloat16.
struct Bfloat16Matrix {
    const std::uint16_t* data = nullptr;
    bool transposed = false;  ///< what is multiplied is its transpose
};

/// Its memory is that of the blocks it copies operands into, 1.1 MB. Needs the tiles. One thread at a time.
class Bfloat16Products {
   public:
    Bfloat16Products();

    /// c [m, n] = or, with `add`, += a [m, k] * b [k, n], summed in float32.
    void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Bfloat16Matrix a, Bfloat16Matrix b, float* c,
                  bool add);

   private:
    struct Blocks;
    struct Free {
        void operator()(Blocks* blocks) const;
    };
    std::unique_ptr<Blocks, Free> blocks_;
};

}  // namespace hpo
