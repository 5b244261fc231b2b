// The variables of this process as "NAME=value", with a null pointer behind the last. POSIX has programs declare them.
#pragma once

extern "C" char** environ;
