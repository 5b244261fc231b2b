// What a fake worker can do wrong to the machine and to its socket, by name.
#pragma once

#include "tests/support/fake_script.hpp"

namespace hpo::fake {

/// Carries out one misdeed; some do not return. `socket` is the worker's connection, -1 before there is one. Returns
/// false if there is no misdeed of this name.
bool misbehave(const Directive& directive, int socket);

/// Writes all bytes, however long it takes. Exits if the peer is gone.
void write_all(int fd, std::string_view bytes);

[[noreturn]] void sleep_forever();

}  // namespace hpo::fake
