#include "orchestrator/script/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace hpo::script {

namespace {

using std::string;

constexpr unsigned short rows = 24, columns = 200;  // wide, since programs cut or wrap lines at the edge

/// Returns true if the argument is a Python interpreter, a shell, or a script for a Python interpreter or a shell.
bool names_interpreter(const string& argument) {
    const string name = std::filesystem::path(argument).filename().string();
    constexpr std::string_view shells[] = {"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"};
    return name.starts_with("python") || name.starts_with("pypy") || name.ends_with(".py") || name.ends_with(".sh") ||
           std::find(std::begin(shells), std::end(shells), name) != std::end(shells);
}

bool is_elf(const string& file) {
    char magic[4] = {};
    std::ifstream stream(file, std::ios::binary);
    return stream.read(magic, sizeof magic) && std::memcmp(magic, "\177ELF", sizeof magic) == 0;
}

}  // namespace

Result<Terminal> open_terminal() {
    Terminal terminal;
    const auto failed = [] { return Error{string("cannot open a terminal: ") + std::strerror(errno)}; };
    terminal.reader = Descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    char name[64];
    if (!terminal.reader || ::grantpt(terminal.reader.get()) != 0 || ::unlockpt(terminal.reader.get()) != 0 ||
        ::ptsname_r(terminal.reader.get(), name, sizeof name) != 0)
        return failed();
    terminal.program = Descriptor(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios mode{};
    if (!terminal.program || ::tcgetattr(terminal.program.get(), &mode) != 0) return failed();
    ::cfmakeraw(&mode);
    mode.c_cc[VMIN] = mode.c_cc[VTIME] = 0;  // a reader finds the end of the input at once
    const winsize size{rows, columns, 0, 0};
    if (::tcsetattr(terminal.program.get(), TCSANOW, &mode) != 0 ||
        ::ioctl(terminal.program.get(), TIOCSWINSZ, &size) != 0)
        return failed();
    return terminal;
}

string path_of(const string& program, const std::optional<string>& path) {
    if (program.find('/') != string::npos) return ::access(program.c_str(), X_OK) == 0 ? program : "";
    const char* inherited = std::getenv("PATH");
    const string folders = path ? *path : inherited != nullptr ? inherited : "/usr/bin:/bin";
    for (std::string_view rest = folders;;) {
        const auto colon = rest.find(':');
        string file = string(rest.substr(0, colon)) + "/" + program;
        if (::access(file.c_str(), X_OK) == 0) return file;
        if (colon == std::string_view::npos) return {};
        rest.remove_prefix(colon + 1);
    }
}

string first_line_problem(const string& program) {
    const string file = path_of(program);
    std::ifstream stream(file, std::ios::binary);
    string line(256, '\0');  // as much as the system reads
    stream.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<std::size_t>(stream.gcount()));
    const auto end = line.find('\n');
    if (file.empty() || !line.starts_with("#!") || end == string::npos || line[end - 1] != '\r') return {};
    return "cannot start " + file + ": its first line, " + line.substr(0, end - 1) +
           ", ends with a carriage return (CRLF), as files of Windows do, and the system takes it for a part of the "
           "interpreter's name: convert the file by sed -i 's/\\r$//' " +
           file;
}

bool profits_from_terminal(const std::vector<string>& command) {
    return !command.empty() && std::none_of(command.begin(), command.end(), names_interpreter) &&
           is_elf(path_of(command.front()));
}

}  // namespace hpo::script
