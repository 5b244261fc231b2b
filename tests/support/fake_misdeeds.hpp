// The ways in which a fake worker can misbehave towards the machine and its socket, by name.
#pragma once

#include "tests/support/fake_script.hpp"

namespace hpo::fake {

/// Carries out a misdeed. Some never return. `socket` is the worker's connection, or -1 before it is made. Returns
/// false if the directive is not a misdeed.
bool misbehave(const Directive& directive, int socket);

/// Writes all bytes, and blocks until that is done. Exits with status 3 if the peer is gone.
void write_all(int fd, std::string_view bytes);

[[noreturn]] void sleep_forever();

}  // namespace hpo::fake
