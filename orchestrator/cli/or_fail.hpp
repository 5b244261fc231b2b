// Stays until the commands in progress include hpo/or_fail.hpp.
#pragma once

#include "hpo/or_fail.hpp"
