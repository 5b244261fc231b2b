#include "orchestrator/script/syntax/failure_reason.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "orchestrator/script/syntax/failure_forms.hpp"
#include "orchestrator/script/syntax/signal_signs.hpp"

namespace hpo::script {

namespace {

using std::string;
using std::string_view;

constexpr std::size_t max_message_lines = 12;
constexpr std::size_t max_frame_lines = 6;  // two for each frame, and carets below some
constexpr std::size_t max_line_bytes_kept = 500;
constexpr std::size_t max_reason_bytes = 4000;
constexpr std::size_t max_chained = 10;
/// Lines of other text that may follow an error, such as messages of a program that cleans up.
constexpr int max_lines_after = 3;
constexpr string_view traceback = "Traceback (most recent call last):";
constexpr string_view chains[] = {"During handling of the above exception, another exception occurred:",
                                  "The above exception was the direct cause of the following exception:"};
/// Exceptions by which a launcher says that its child has failed; the child's own error is above.
constexpr string_view launchers[] = {"ChildFailedError", "CalledProcessError"};

using Lines = std::vector<string>;

bool contains(string_view text, string_view part) { return text.find(part) != string_view::npos; }

string_view trimmed(string_view text) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

std::size_t indent_of(string_view line) { return std::min(line.find_first_not_of(" \t"), line.size()); }

bool is_indented(string_view line) { return indent_of(line) > 0; }

/// Removes additions of terminals and launchers to a line: redrawn text, colours, the rank of a process.
string cleaned(string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    line = line.substr(line.find_last_of('\r') + 1);
    string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
            i += 2;
            while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
        } else {
            text += line[i];
        }
    }
    for (const string_view begin : {"[rank", "[1,"}) {  // torchrun, mpirun --tag-output
        if (!text.starts_with(begin)) continue;
        const auto end = text.find_first_of(":>", text.find(']'));
        const bool tagged = end != string::npos && end < 24;
        if (!tagged) continue;
        text.erase(0, end + 1);
        if (text.starts_with(' ')) text.erase(0, 1);
    }
    return text;
}

/// Removes the frame that Python draws around exceptions of a group, and rich around messages.
void unframe(Lines& lines) {
    const bool grouped = std::any_of(lines.begin(), lines.end(),
                                     [](const string& line) { return contains(line, "Exception Group Traceback"); });
    for (string& line : lines) {
        const string_view text = trimmed(line);
        if (grouped && text.starts_with("+")) {
            const auto begin = text.find_first_not_of("+- 0123456789");
            line = begin == string_view::npos ? "" : string(text.substr(begin));
        } else if (grouped && text.starts_with("| ")) {
            line = string(text.substr(2));
        } else if (text.starts_with("\u256d") || (text.starts_with("\u2570") && text.ends_with("\u256f"))) {
            line.clear();
        } else if (constexpr string_view bar = "\u2502"; text.starts_with(bar) && text.size() > bar.size()) {
            string_view inner = text.substr(bar.size());
            if (inner.ends_with(bar)) inner.remove_suffix(bar.size());
            line = string(trimmed(inner));
        }
    }
}

/// Removes the number of a process that `srun --label` prints in front of each line, if one is in front of a traceback.
void drop_labels(Lines& lines) {
    const auto label_size = [](string_view line) {
        const auto end = line.find_first_not_of("0123456789", line.find_first_not_of(' '));
        return end != string_view::npos && end > 0 && line.substr(end).starts_with(':') ? end + 1 : std::size_t{0};
    };
    const auto labels_traceback = [&](const string& line) {
        const std::size_t size = label_size(line);
        return size > 0 && trimmed(string_view(line).substr(size)).starts_with(traceback);
    };
    if (std::none_of(lines.begin(), lines.end(), labels_traceback)) return;
    for (string& line : lines)
        if (const std::size_t size = label_size(line); size > 0)
            line.erase(0, size + (string_view(line).substr(size).starts_with(' ') ? 1 : 0));
}

/// Removes tracebacks of errors that Python ignores while it ends.
void drop_ignored(Lines& lines) {
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        const bool ignored = lines[i].starts_with("Exception ignored in") || lines[i].starts_with("Error in atexit");
        if (!ignored || !contains(lines[i + 1], traceback)) continue;
        std::size_t end = i + 2;
        while (end < lines.size() && is_indented(lines[end])) ++end;
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i),
                    lines.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, lines.size())));
        --i;
    }
}

Lines lines_of(string_view text) {
    Lines lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.push_back(cleaned(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    unframe(lines);
    drop_labels(lines);
    drop_ignored(lines);
    return lines;
}

/// Returns true for a line of dashes or brackets.
bool is_ornament(string_view line) {
    return (line.size() >= 3 && line.find_first_not_of("-=_*^~ ") == string_view::npos) ||
           line.find_first_not_of("{}[](),;") == string_view::npos;
}

/// Returns true for "ValueError: no", "java.lang.IllegalArgumentException: no", "TypeError [CODE]: no",
/// "KeyboardInterrupt".
bool is_exception(string_view line) {
    const auto is_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
    };
    const auto end = static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_word) - line.begin());
    const string_view name = line.substr(0, end), after = line.substr(end);
    if (name.empty() || name.ends_with('.') || std::isdigit(static_cast<unsigned char>(name.front()))) return false;
    if (name == "KeyboardInterrupt" || name == "SystemExit") return after.empty() || after.starts_with(":");
    const bool named = name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Failure");
    return named && (after.empty() || after.starts_with(": ") || after == ":" || after.starts_with(" ["));
}

/// Returns true for lines such as "no learning rate at train.pl line 3." (Perl), "train.rb:3:in `f': no (Error)" (Ruby)
/// and "lua: train.lua:3: no".
bool names_its_place(string_view line) {
    const auto at = line.rfind(" line ");
    if (at != string_view::npos && line.ends_with('.') && contains(line.substr(0, at), " at ")) {
        const string_view number = line.substr(at + 6, line.size() - at - 7);
        if (!number.empty() && number.find_first_not_of("0123456789") == string_view::npos) return true;
    }
    return (contains(line, ":in `") || contains(line, ":in '")) && line.ends_with(')');
}

bool is_number(string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789.+-e%") == string_view::npos;
}

/// Returns true for a line of a log that begins with a time, or in the form of glog, and is about an error.
bool is_logged_error(string_view line) {
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    if (line.size() > 6 && (line[0] == 'E' || line[0] == 'F') &&
        std::all_of(line.begin() + 1, line.begin() + 5, is_digit))
        return true;
    if (line.empty() || !(is_digit(line[0]) || line[0] == '[')) return false;
    return contains(line, " ERROR ") || contains(line, "ERROR:") || contains(line, " CRITICAL ") ||
           contains(line, " FATAL ");
}

/// Returns true for a frame of a stack: "3: main.f at x.c" (numbers), "main.train(0x1, {0x2})" (Go), "x.zig:3:5: 0x21
/// in f".
bool is_frame(string_view line) {
    const auto number = line.find_first_not_of("0123456789");
    if (number != 0 && number != string_view::npos &&
        (line.substr(number).starts_with(": (") || (line[number] == ' ' && contains(line, " 0x"))))
        return true;
    if (contains(line, ": 0x") && contains(line, " in ")) return true;
    return line.ends_with(')') && contains(line, ".") && line.find('(') < line.find(' ');
}

/// Returns true for a progress bar, which is drawn once more while the program ends: "Epoch 0:   0%|  | 0/9 [00:00<?".
bool is_progress_bar(string_view line) { return contains(line, "%|") && contains(line, "| ") && contains(line, "/"); }

Form form_of(string_view line) {
    if (is_progress_bar(line)) return Form::trailer;
    if (is_ornament(line) || is_frame(line) || (line.starts_with("==") && line.ends_with("=="))) return Form::trailer;
    if (is_shell_death(line)) return Form::killed;
    // A metric may be named "Error".
    if (const auto colon = line.rfind(": "); colon != string_view::npos && is_number(line.substr(colon + 2)))
        return Form::none;
    for (const FormRow& row : form_rows) {
        const bool fits = row.at == At::begin   ? line.starts_with(row.text)
                          : row.at == At::end   ? line.ends_with(row.text)
                          : row.at == At::whole ? line == row.text
                                                : contains(line, row.text);
        if (fits) return row.form;
    }
    return is_exception(line) || names_its_place(line) || is_logged_error(line) ? Form::error : Form::none;
}

/// Returns true if a line looks like a report of numbers.
bool is_report(string_view line) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        if (line[i] != '=' && line[i] != ':') continue;
        const auto next = line.find_first_not_of(' ', i + 1);
        if (next != string_view::npos && std::isdigit(static_cast<unsigned char>(line[next])) &&
            next > i + (line[i] == ':'))
            return true;
    }
    return false;
}

/// Returns true if the line is not of the error above it: the program went on, or failed otherwise.
bool goes_on(string_view line) {
    const Form form = form_of(line);
    return form == Form::error || form == Form::fatal || is_report(line);
}

string joined(const Lines& lines, std::size_t begin, std::size_t end) {
    string text;
    for (std::size_t i = begin; i < end; ++i) text += (i > begin ? "\n" : "") + lines[i].substr(0, max_line_bytes_kept);
    return text;
}

// ---- Errors of a known form.

struct Found {
    std::size_t line = 0;  ///< of the error
    Form form = Form::none;
    std::vector<std::size_t> causes{};  ///< lines below it
};

/// Returns true if the message stands in the line below the error's.
bool announces(string_view line) {
    return line.ends_with(':') || line.ends_with(": ") || line.starts_with("terminate called after throwing") ||
           ((line.starts_with("Error using ") || line.starts_with("{Error using ")) && line.ends_with(')')) ||
           line.ends_with(" TaskFailedException") || line.starts_with("Execution error ");
}

/// Looks upwards from the end for the line of the error. If none has the form of an error, the last line is taken.
std::optional<Found> find_error(const Lines& lines) {
    std::optional<std::size_t> last, death;
    std::vector<std::size_t> causes;
    int others = 0;
    bool reports = false;
    for (std::size_t i = lines.size(); i-- > 0 && others <= max_lines_after && !reports;) {
        const string_view line = lines[i];
        if (trimmed(line).empty()) continue;
        if (is_indented(line)) {
            constexpr string_view cross = "\u00d7 ";  // uv and others begin their errors so
            if (trimmed(line).starts_with(cross)) return Found{i, Form::error};
            if (trimmed(line) == "while executing" && i > 0) return Found{i - 1, Form::error};  // Tcl
            if (!last) last = i;
            continue;
        }
        switch (const Form form = form_of(line)) {
            case Form::error:
            case Form::fatal:
                std::reverse(causes.begin(), causes.end());
                if (i > 0 && form_of(lines[i - 1]) == Form::fatal && announces(lines[i - 1]))
                    return Found{i - 1, Form::fatal, causes};
                return Found{i, form, causes};
            case Form::killed:
                if (!death) death = i;
                break;
            case Form::cause:
                causes.push_back(i);
                break;
            case Form::trailer:
                if (last && is_indented(lines[*last])) last.reset();  // the line belongs to this trailer
                break;
            case Form::none:
                if (!last || is_indented(lines[*last])) last = last && !death && others == 0 && *last > i ? last : i;
                if (is_report(line)) reports = true;
                ++others;
                break;
        }
    }
    if (death) return Found{*death, Form::killed};
    if (!causes.empty()) return Found{causes.back(), Form::error};
    if (last) return Found{*last, Form::none};
    for (std::size_t i = lines.size(); i-- > 0;)
        if (!trimmed(lines[i]).empty()) return Found{i, Form::none};
    return std::nullopt;
}

FailureReason reason_by_form(const Lines& lines) {
    FailureReason reason;
    const auto found = find_error(lines);
    if (!found) return reason;
    std::size_t at = found->line;
    // MATLAB: "Error using f (line 3)", the message, then "Error in train (line 9)" for each caller.
    if (lines[at].starts_with("Error in ") && lines[at].ends_with(')'))
        for (std::size_t i = at; i-- > 0;)
            if (lines[i].starts_with("Error using ") || lines[i].starts_with("{Error using ")) {
                at = i;
                break;
            }
    string_view line = found->form == Form::none ? string_view(lines[at]) : trimmed(lines[at]);
    reason.text = string(line.substr(0, max_line_bytes_kept));
    if (found->form != Form::none && announces(line)) {
        std::size_t next = at + 1;
        while (next < lines.size() && trimmed(lines[next]).empty()) ++next;
        if (next < lines.size() && (is_indented(lines[next]) || form_of(lines[next]) != Form::trailer)) {
            string_view message = trimmed(lines[next]);
            if (message.starts_with("what():")) message = trimmed(message.substr(7));
            if (reason.text.ends_with(':')) reason.text.pop_back();
            reason.text = string(trimmed(reason.text)) + ": " + string(message.substr(0, max_line_bytes_kept));
        }
    }
    for (const std::size_t cause : found->causes) reason.text += "\n" + lines[cause].substr(0, max_line_bytes_kept);
    reason.evidence = reason.text;
    reason.rest.assign(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end());
    for (std::size_t i = at + 1; i < lines.size(); ++i)
        if (!is_indented(lines[i]) && form_of(lines[i]) != Form::trailer) reason.evidence += "\n" + lines[i];
    const auto own = [](const string& rest) {
        return trimmed(rest).empty() || is_indented(rest) || form_of(rest) == Form::trailer ||
               form_of(rest) == Form::cause || form_of(rest) == Form::killed;
    };
    const bool halted = std::find(lines.begin(), lines.end(), "Execution halted") != lines.end() ||
                        std::any_of(reason.rest.begin(), reason.rest.end(),
                                    [](const string& rest) { return rest.starts_with("Node.js v"); });
    const auto after = reason.rest.begin() + (found->form == Form::fatal && announces(line) ? 2 : 1);
    reason.fatal =
        found->form == Form::killed || (halted && found->form != Form::none) ||
        (found->form == Form::fatal && std::all_of(std::min(after, reason.rest.end()), reason.rest.end(), own));
    return reason;
}

// ---- Python's tracebacks.

struct Traceback {
    std::size_t begin = 0;    ///< its line "Traceback (most recent call last):"
    std::size_t message = 0;  ///< first line of the exception's text
    std::size_t end = 0;      ///< after the last one
};

/// Returns true if the exception's text says where and why below a blank line, as that of TensorFlow does:
/// "InvalidArgumentError: Graph execution error:".
bool continues_below(const Lines& lines, std::size_t message) {
    return lines[message].ends_with(':') && message + 1 < lines.size() && trimmed(lines[message + 1]).empty();
}

/// Returns the last traceback that begins before `before` and is complete.
std::optional<Traceback> last_traceback(const Lines& lines, std::size_t before) {
    for (std::size_t i = std::min(before, lines.size()); i-- > 0;) {
        if (!contains(lines[i], traceback)) continue;
        std::size_t base = i + 1 < lines.size() ? indent_of(lines[i + 1]) : 0;
        base = base >= 2 ? base - 2 : 0;
        std::size_t message = i + 1;
        while (message < lines.size() && indent_of(lines[message]) > base) ++message;
        if (message == lines.size() || trimmed(lines[message]).empty()) continue;
        std::size_t end = message + 1;
        while (end < lines.size() && !trimmed(lines[end]).empty() && !is_ornament(lines[end]) && !goes_on(lines[end]) &&
               (is_indented(lines[end]) || form_of(lines[end]) != Form::trailer))
            ++end;
        if (continues_below(lines, message)) end = lines.size();
        return Traceback{i, message, end};
    }
    return std::nullopt;
}

/// Returns the message in at most 12 lines, then the last frames.
string text_of(const Lines& lines, const Traceback& found) {
    string text;
    const auto add = [&](string_view line) {
        if (!text.empty()) text += '\n';
        text += line.substr(0, max_line_bytes_kept);
    };
    const std::size_t count = found.end - found.message;
    for (std::size_t i = 0; i < count; ++i) {
        if (count > max_message_lines && i == max_message_lines - 2) add("...");
        const string& line = lines[found.message + i];
        if (count <= max_message_lines || i < max_message_lines - 2 || i + 1 == count)
            add(i == 0 ? trimmed(line) : string_view(line));
    }
    // The kernel's own message says which check failed.
    for (std::size_t i = found.begin; i-- > 0 && contains(text, "device-side assert");)
        if (contains(lines[i], "Assertion `")) {
            add(lines[i]);
            break;
        }
    std::size_t frame = found.message - std::min(found.message - found.begin - 1, max_frame_lines);
    while (frame != found.message && !trimmed(lines[frame]).starts_with("File ")) ++frame;
    for (; frame != found.message; ++frame) add(lines[frame]);
    return text.substr(0, max_reason_bytes);
}

/// Returns the messages of the exceptions that this one followed from.
string chained(const Lines& lines, const Traceback& last) {
    string text;
    Traceback at = last;
    for (std::size_t count = 0; count < max_chained; ++count) {
        std::size_t i = at.begin;
        while (i > 0 && trimmed(lines[i - 1]).empty()) --i;
        if (i == 0 || std::find(std::begin(chains), std::end(chains), trimmed(lines[i - 1])) == std::end(chains)) break;
        const auto earlier = last_traceback(lines, i - 1);
        if (!earlier) break;
        text += "\n" + joined(lines, earlier->message, std::min(earlier->end, i - 1));
        at = *earlier;
    }
    return text;
}

/// Returns the line of torchrun's summary that names the signal of which the first process died.
string signal_line(const Lines& lines, const Traceback& launcher) {
    for (std::size_t i = launcher.message; i < lines.size(); ++i)
        if (const string_view line = trimmed(lines[i]); contains(line, "Signal ") && contains(line, "received by PID"))
            return string(line.substr(line.find("Signal ")));
    for (std::size_t i = launcher.message; i < lines.size(); ++i)
        if (const string_view line = trimmed(lines[i]); line.starts_with("exitcode") && contains(line, ": -"))
            return string(line);
    return {};
}

std::optional<FailureReason> reason_by_traceback(const Lines& lines) {
    const auto found = last_traceback(lines, lines.size());
    if (!found) return std::nullopt;
    const string_view exception = trimmed(lines[found->message]);
    const string_view name = exception.substr(0, exception.find(':'));
    const bool launches = std::any_of(std::begin(launchers), std::end(launchers),
                                      [&](string_view launcher) { return name.ends_with(launcher); });
    FailureReason reason;
    reason.rest.assign(lines.begin() + static_cast<std::ptrdiff_t>(found->message), lines.end());
    reason.fatal = true;
    if (launches) {
        if (const string signal = signal_line(lines, *found); !signal.empty()) {
            reason.text = reason.evidence = signal;
            return reason;
        }
        const bool says_signal = contains(exception, "died with <Signals.");
        const Lines above(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(found->begin));
        auto child = reason_by_traceback(above);
        if (!child) child = reason_by_form(above);
        const bool known = !child->text.empty() && (child->fatal || !child->evidence.empty());
        if (known && !says_signal && (child->fatal || find_error(above)->form != Form::none)) {
            child->rest.insert(child->rest.end(), reason.rest.begin(), reason.rest.end());
            return child;
        }
    } else {
        int others = 0;
        for (std::size_t i = continues_below(lines, found->message) ? found->end : found->message + 1; i < lines.size();
             ++i) {
            if (trimmed(lines[i]).empty() || is_indented(lines[i]) || form_of(lines[i]) == Form::trailer) continue;
            reason.fatal = false;
            if (i >= found->end && (goes_on(lines[i]) || ++others > max_lines_after)) return std::nullopt;
        }
    }
    reason.text = text_of(lines, *found);
    reason.evidence = joined(lines, found->message, found->end) + chained(lines, *found);
    return reason;
}

}  // namespace

FailureReason failure_reason(string_view output) {
    const Lines lines = lines_of(output);
    if (auto reason = reason_by_traceback(lines)) return *std::move(reason);
    FailureReason reason = reason_by_form(lines);
    reason.text = reason.text.substr(0, max_reason_bytes);
    return reason;
}

}  // namespace hpo::script
