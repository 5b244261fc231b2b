#include "orchestrator/script/syntax/steps.hpp"

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

void StepReader::feed(string_view bytes, std::size_t stream) {
    lines_.at(stream).feed(bytes, [this](string_view text) { line(text); });
}

void StepReader::finish() {
    for (std::size_t stream = 0; stream < streams; ++stream)
        if (!lines_[stream].rest().empty()) feed("\n", stream);
    if (reported_ > 0 && !stepped_) steps_.push_back(std::exchange(open_, {}));
}

void StepReader::line(string_view text) {
    // A progress bar returns to the beginning of its line. Each of its states is read as a line.
    while (!text.empty()) {
        const auto end = text.find('\r');
        Metrics found;
        reader_->read(text.substr(0, end), found);
        add(found, text.substr(0, end));
        if (end == string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

void StepReader::add(const Metrics& found, string_view text) {
    for (const auto& [name, number] : found)
        if (name == objective_)
            open_[name] = number;
        else
            script::add(open_, name, number);
    if (!found.contains(objective_)) {
        if (reported_ == 0 && !stepped_) consider(text);
    } else if (++reported_ == reports_) {
        steps_.push_back(std::exchange(open_, {}));
        reported_ = 0;
        stepped_ = true;
    }
}

std::optional<Metrics> StepReader::take() {
    if (steps_.empty()) return {};
    Metrics first = std::move(steps_.front());
    steps_.pop_front();
    return first;
}

/// Keeps the line as nearest() if it resembles a report of the objective more than earlier lines do. Parts of the
/// objective's name and a number count.
void StepReader::consider(string_view text) {
    const auto letters = [](string_view from) {
        string lower;
        for (const char c : from)
            if (is_letter(c) && c != '_') lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        return lower;
    };
    const string line = letters(text);
    int likeness = text.find_first_of("0123456789") != string_view::npos ? 1 : 0;
    for (string_view rest = objective_; !rest.empty();) {
        const auto end = rest.find_first_of("_/.-");
        const string part = letters(rest.substr(0, end));
        if (part.size() > 1 && line.find(part) != string::npos) likeness += 2;
        rest.remove_prefix(end == string_view::npos ? rest.size() : end + 1);
    }
    if (line.find(letters(objective_)) != string::npos) likeness += 10;
    if (likeness <= likeness_) return;
    likeness_ = likeness;
    nearest_ = trim(text).substr(0, max_quoted_bytes);
}

}  // namespace hpo::script
