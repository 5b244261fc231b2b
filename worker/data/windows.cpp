#include "worker/data/windows.hpp"

#include "worker/data/data_text.hpp"
#include "worker/data/split.hpp"

namespace hpo {

Result<WindowLayout> lay_out_windows(const DataConfig& config, const WindowQuestion& question) {
    if (config.folds > 0)
        return Error{"data.validation.folds: is for samples without an order, and the " + std::string(question.whole) +
                     " is split by position: use data.validation: 0.1 instead"};
    WindowLayout layout;
    layout.rows_of_one = question.window + question.horizon;
    layout.stride = question.stride;
    const auto count = [&](std::int64_t rows) { return grouped(rows) + " " + question.unit; };
    const std::string one = "a window of " + count(question.window) + " and a horizon of " + grouped(question.horizon) +
                            " are " + count(layout.rows_of_one);
    const std::string has = ", and the " + std::string(question.whole) + " has only " + grouped(question.rows);
    if (layout.rows_of_one > question.rows) return Error{"data.window: " + one + has};
    const std::int64_t windows = (question.rows - layout.rows_of_one) / layout.stride + 1;
    layout.first_row = (question.rows - layout.rows_of_one) % layout.stride;
    layout.gap = (layout.rows_of_one + layout.stride - 1) / layout.stride - 1;
    const std::int64_t borders = question.tests_apart ? 1 : 2, kept = windows - borders * layout.gap;
    if (kept < borders + 1)
        return Error{"data.window: " + one + "; " +
                     (question.tests_apart ? "to train and to validate" : "to train, to validate and to test") +
                     " on different ones takes at least " +
                     grouped(layout.rows_of_one + borders * (layout.gap + 1) * layout.stride) + has};
    layout.test = question.tests_apart ? 0 : test_rows(config, kept);
    layout.train = kept - layout.test;
    const auto sizes = split_sizes(config, layout.train);
    if (!sizes) return sizes.error();
    layout.validation = sizes->validation;
    return layout;
}

std::string parts_text(const WindowLayout& layout, const SplitSizes& sizes, const WindowQuestion& question) {
    const std::string unit = std::string(question.unit).substr(0, std::string_view(question.unit).size() - 1);
    return grouped(sizes.train) + " windows train, later ones validate (" + grouped(sizes.validation) + ")" +
           (question.tests_apart ? "" : " and test (" + grouped(layout.test) + ")") +
           (layout.gap == 0 ? "; no " + unit + " is in two parts"
                            : "; " + grouped(layout.gap) + (layout.gap == 1 ? " window is" : " windows are") +
                                  " left out between two parts, so that no " + unit + " is in both");
}

}  // namespace hpo
