#pragma once
#include "orchestrator/output/output_path.hpp"
