#include "orchestrator/script/syntax/signal_signs.hpp"

#include <algorithm>
#include <array>
#include <boost/regex.hpp>
#include <cctype>
#include <charconv>
#include <csignal>
#include <string>

namespace hpo::script {

namespace {

using std::string_view;

constexpr std::size_t max_line = 500;

/// A signal that ends a process, with its name after SIG and a shell's words for it.
struct Deadly {
    int number;
    string_view name;
    string_view words;
};

constexpr std::array deadly{
    Deadly{SIGHUP, "HUP", "Hangup"},
    Deadly{SIGINT, "INT", "Interrupt"},
    Deadly{SIGQUIT, "QUIT", "Quit"},
    Deadly{SIGILL, "ILL", "Illegal instruction"},
    Deadly{SIGTRAP, "TRAP", "Trace/breakpoint trap"},
    Deadly{SIGABRT, "ABRT", "Aborted"},
    Deadly{SIGBUS, "BUS", "Bus error"},
    Deadly{SIGFPE, "FPE", "Floating point exception"},
    Deadly{SIGKILL, "KILL", "Killed"},
    Deadly{SIGUSR1, "USR1", "User defined signal 1"},
    Deadly{SIGSEGV, "SEGV", "Segmentation fault"},
    Deadly{SIGUSR2, "USR2", "User defined signal 2"},
    Deadly{SIGPIPE, "PIPE", "Broken pipe"},
    Deadly{SIGALRM, "ALRM", "Alarm clock"},
    Deadly{SIGTERM, "TERM", "Terminated"},
    Deadly{SIGXCPU, "XCPU", "CPU time limit exceeded"},
    Deadly{SIGXFSZ, "XFSZ", "File size limit exceeded"},
    Deadly{SIGSYS, "SYS", "Bad system call"},
};

std::optional<int> by_number(int number) {
    const auto found =
        std::find_if(deadly.begin(), deadly.end(), [&](const Deadly& one) { return one.number == number; });
    return found == deadly.end() ? std::nullopt : std::optional(number);
}

std::optional<int> by_name(string_view name) {
    const auto found = std::find_if(deadly.begin(), deadly.end(), [&](const Deadly& one) { return one.name == name; });
    return found == deadly.end() ? std::nullopt : std::optional(found->number);
}

/// Returns the signal whose words the text begins with, in small letters too.
std::optional<int> by_words(string_view text) {
    for (const Deadly& one : deadly) {
        if (text.size() < one.words.size()) continue;
        const auto alike = [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
        };
        const string_view after = text.substr(one.words.size());
        if (std::equal(one.words.begin(), one.words.end(), text.begin(), alike) &&
            (after.empty() || !std::isalpha(static_cast<unsigned char>(after.front()))))
            return one.number;
    }
    return std::nullopt;
}

/// Returns the words of a shell in its line about a command: the text after the pid, or the whole line.
string_view words_of_shell(string_view line) {
    static const boost::regex after_pid(R"(^\S.*: line \d+: +\d+ (?=[A-Z]))");
    boost::cmatch found;
    if (boost::regex_search(line.data(), line.data() + line.size(), found, after_pid))
        return line.substr(static_cast<std::size_t>(found.length()));
    if (line.starts_with("zsh: ")) return line.substr(5);
    return line;
}

int number_of(const boost::csub_match& text) {
    int number = 0;
    std::from_chars(text.first, text.second, number);
    return number;
}

}  // namespace

bool is_shell_death(string_view line) {
    line = line.substr(0, max_line);
    const string_view words = words_of_shell(line);
    if (!by_words(words)) return false;
    if (words.size() < line.size()) return true;
    // Alone in its line, as dash prints it.
    for (const Deadly& one : deadly)
        if (line.starts_with(one.words))
            return line.size() == one.words.size() || line.substr(one.words.size()) == " (core dumped)";
    return false;
}

std::optional<int> signal_named(string_view line) {
    line = line.substr(0, max_line);
    // Signals of a launcher to other processes say nothing about the first one.
    if (line.find("closing signal") != string_view::npos) return std::nullopt;
    if (is_shell_death(line)) return by_words(words_of_shell(line));
    static const boost::regex name(R"((?:<Signals\.|\b[Ss]ignal:? |\(|\{)SIG([A-Z]+[12]?)\b)");
    static const boost::regex number(R"((?:\b(?:on|by|with) |\()signal:? (\d+)\b)");
    static const boost::regex words(
        R"(^(?:(?:g?make(?:\[\d+\])?: \*\*\* \[.*\] )|(?:srun: error: .*task \S+: )|(?:signal: )|.*\bSignal: |.*\bby signal: )([A-Za-z].*))");
    static const boost::regex status(
        R"(\b(?:exit ?code|exit status|return ?code|exit_code)\s*[:=]?\s*(-?\d+)\b|\*\*\* \[.*\] Error (\d+)$)");
    static const boost::regex memory(R"(srun: error: .*Out Of Memory|slurmstepd: error: Detected \d+ oom.kill event)");
    boost::cmatch found;
    const auto matches = [&](const boost::regex& pattern) {
        return boost::regex_search(line.data(), line.data() + line.size(), found, pattern);
    };
    if (matches(name))
        if (const auto signal = by_name({found[1].first, static_cast<std::size_t>(found[1].length())})) return signal;
    if (matches(number))
        if (const auto signal = by_number(number_of(found[1]))) return signal;
    if (matches(words))
        if (const auto signal = by_words({found[1].first, static_cast<std::size_t>(found[1].length())})) return signal;
    if (matches(memory)) return SIGKILL;
    if (!matches(status)) return std::nullopt;
    const int value = number_of(found[1].matched ? found[1] : found[2]);
    return value < 0 ? by_number(-value) : value > 128 ? by_number(value - 128) : std::nullopt;
}

std::optional<int> signal_of_status(int status) {
    for (const int signal : {SIGKILL, SIGSEGV, SIGABRT, SIGTERM})
        if (status == 256 - signal) return signal;
    return status > 128 ? by_number(status - 128) : std::nullopt;
}

}  // namespace hpo::script
