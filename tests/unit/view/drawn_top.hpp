// hpo top without a terminal: keys in, pictures out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/view/time_left.hpp"
#include "orchestrator/view/top.hpp"

namespace hpo::view {

inline std::string draw_top(const Study& study, const StudyRecord& record, const Moment& moment, const TopState& state,
                            const Screen& screen) {
    const auto left = time_left(study, record, moment);
    const std::string text = left ? time_left_text(*left) : "";
    return draw_top({study, record, moment, {}, {}, {}, text}, state, screen);
}

/// A user before hpo top. `study` and `record` must outlive the object.
struct PlayedTop {
    const Study& study;
    const StudyRecord& record;
    Screen screen{80, 24, false, true};
    Moment moment{125, 2, true};
    Curves curves = {};
    TrialFiles files = {};
    std::vector<std::string> studies = {};
    TopState state = {};

    [[nodiscard]] TopInput input() const { return {study, record, moment, curves, files, studies}; }
    TopRequest press(Key key) {
        const TopRequest request = on_key(state, key, input(), screen);
        settle(state, input(), screen);
        return request;
    }
    /// Presses the keys as a terminal sends them. Returns the request of the last one.
    TopRequest press(std::string bytes) {
        TopRequest request = TopRequest::none;
        while (!bytes.empty()) request = press(take_key(bytes));
        return request;
    }
    [[nodiscard]] std::string picture() const { return draw_top(input(), state, screen); }
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> lines;
        const std::string text = picture();
        for (std::size_t from = 0; from < text.size();) {
            const auto end = text.find('\n', from);
            lines.push_back(text.substr(from, end - from));
            from = end + 1;
        }
        return lines;
    }
    /// Returns the numbers of the trials in the table's rows.
    [[nodiscard]] std::vector<std::int64_t> rows() const { return shown_trials(input(), state, screen); }
};

}  // namespace hpo::view
