// Words for the findings about data, in the lines of `hpo check` and in errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text.hpp"

namespace hpo {

/// Returns the name of a column for messages: cut where it is long.
std::string shown_name(std::string_view name);
/// Returns shown_name() in double quotes.
std::string quoted_name(std::string_view name);
bool is_utf8(std::string_view text);
/// Returns a number with six significant digits.
std::string short_text(double number);
/// Returns "1.5 to 20", with enough digits to tell the two numbers apart.
std::string range_text(double low, double high);

struct ClassCount {
    std::string name;
    std::int64_t count = 0;
};
/// "2 classes: yes (60, 75 %), no (20, 25 %)", the largest first.
std::string classes_text(std::vector<ClassCount> classes);
/// Warns of classes that are too rare to be in the training, the validation and the test samples ("rows"), or returns
/// an empty text.
std::string rare_classes_text(const std::vector<ClassCount>& classes, const char* samples);
/// "3 labels: a (120, 12 %), ...": how many of all samples have each.
std::string labels_text(const std::vector<ClassCount>& labels, std::int64_t samples);

/// "a, b (3 missing) and 7 more".
class NameList {
   public:
    void add(std::string_view name, const std::string& remark = "");
    [[nodiscard]] std::string line(const char* title) const;
    [[nodiscard]] bool empty() const { return count_ == 0; }

   private:
    static constexpr std::size_t most = 20;
    std::string text_;
    std::size_t count_ = 0;
};

}  // namespace hpo
