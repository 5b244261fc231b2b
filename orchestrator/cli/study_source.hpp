#pragma once
#include "orchestrator/lookup/study_source.hpp"
