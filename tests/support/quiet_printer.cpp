// A typical C program, whose output stdio buffers unless it goes to a terminal. After each step it waits for a byte
// from the FIFO that its first argument names. It leaves a process behind that holds its output open.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    const int gate = argc > 1 ? ::open(argv[1], O_RDONLY) : -1;
    if (gate < 0) return 2;
    if (::fork() == 0) {
        ::close(gate);
        ::setsid();
        ::pause();
        return 0;
    }
    const int controlling = ::open("/dev/tty", O_RDWR);
    const auto variable = [](const char* name) { return std::getenv(name) ? std::getenv(name) : "-"; };
    std::fprintf(stderr, "errors on a terminal: %d, controlling: %d, TERM %s, NO_COLOR %s\n", ::isatty(2),
                 controlling >= 0, variable("TERM"), variable("NO_COLOR"));
    for (int step = 1; step <= 3; ++step) {
        std::printf("val_loss=%.3f\tof step %d\n", 1.0 / step, step);
        char byte;
        if (::read(gate, &byte, 1) != 1) return 3;
    }
    return 0;
}
