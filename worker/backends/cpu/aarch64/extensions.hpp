// The extensions of an ARM64 processor that this system lets processes use: linux/ and darwin/ ask for them.
#pragma once

namespace hpo::aarch64 {

struct Extensions {
    bool sve = false;   ///< scalable vectors
    bool bf16 = false;  ///< products of bfloat16 (BFMMLA)
};

Extensions extensions();

}  // namespace hpo::aarch64
