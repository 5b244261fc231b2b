#pragma once
#include "orchestrator/lookup/study_choice.hpp"
