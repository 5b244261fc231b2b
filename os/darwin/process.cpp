#include "os/process.hpp"

#include <mach-o/dyld.h>
#include <pthread.h>

#include <csignal>
#include <cstdint>

namespace hpo::os {

namespace {

std::string path_of_program() {
    std::uint32_t size = 0;
    (void)::_NSGetExecutablePath(nullptr, &size);
    std::string path(size, '\0');
    if (size == 0 || ::_NSGetExecutablePath(path.data(), &size) != 0) return {};
    path.resize(path.find('\0'));
    return path;
}

}  // namespace

std::string own_program() {
    const auto file = own_program_file();
    return file ? file->string() : path_of_program();
}

Result<std::filesystem::path> own_program_file() {
    std::error_code failed;
    auto file = std::filesystem::canonical(path_of_program(), failed);
    if (failed)
        return Error{"hpo does not find its own program (" + failed.message() +
                     "): was it moved or removed since it started? Start it again"};
    return file;
}

void name_thread(const char* name) { (void)::pthread_setname_np(name); }

void die_with_parent() {}

void reset_signal_actions() {
    for (int number = 1; number < NSIG; ++number) (void)::signal(number, SIG_DFL);
}

/// The system's names are in lower case.
const char* signal_abbreviation(int number) {
    static const char* const names[] = {nullptr, "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "EMT",
                                        "FPE",   "KILL", "BUS",    "SEGV", "SYS",   "PIPE", "ALRM", "TERM",
                                        "URG",   "STOP", "TSTP",   "CONT", "CHLD",  "TTIN", "TTOU", "IO",
                                        "XCPU",  "XFSZ", "VTALRM", "PROF", "WINCH", "INFO", "USR1", "USR2"};
    static_assert(SIGUSR2 == 31 && SIGEMT == 7 && SIGURG == 16);
    return number > 0 && number < static_cast<int>(std::size(names)) ? names[number] : nullptr;
}

std::vector<int> allowed_cores() { return {}; }

void bind_to_cores(std::span<const int>) {}

/// Linux counts this in KiB, macOS in bytes.
std::int64_t largest_resident(const rusage& usage) { return usage.ru_maxrss; }

void limit_arenas() {}

}  // namespace hpo::os
