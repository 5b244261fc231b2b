// Fuzzes the conversion of other tools' studies. It must end with a valid study or with printable errors, and input
// that was understood must never lead to an invalid study. The text after a line "#other" is the file that the first
// one may name. A line "#from " with the first letter of a tool forces that format.
#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/import/convert.hpp"
#include "orchestrator/import/registry.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/study/utf8.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

constexpr Option halving[] = {{"grace", OptionType::integer, 1, 1e9, "", "1", ""},
                              {"factor", OptionType::integer, 2, 1000, "", "3", ""}};
constexpr Option median[] = {{"grace", OptionType::integer, 1, 1e9, "", "1", ""}};
constexpr PartOptions rules[] = {{"asha", "", halving}, {"median", "", median}};
constexpr PartOptions samplers[] = {{"auto", "", {}}, {"random", "", {}}, {"sobol", "", {}}, {"tpe", "", {}}};

void check_printable(const std::string& text) {
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = study::code_point_length(rest);
        require(length > 0 && !study::is_control(rest.substr(0, length)));
        rest.remove_prefix(length);
    }
}

/// Returns true for the errors of studies that are larger than a study file may be.
bool too_large(const std::string& error) {
    for (const char* limit : {"more than 4096 values", "more than 256 parameters", "larger than 256 KiB"})
        if (error.find(limit) != std::string::npos) return true;
    return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::string_view tool = importing::any_tool;
    const std::vector<std::string> tools = importing::tool_names();
    if (text.starts_with("#from ") && text.size() > 6)
        for (const std::string& name : tools)
            if (name.front() == text[6]) tool = name;
    std::string other;
    if (const auto at = text.find("\n#other\n"); at != std::string_view::npos) {
        other = text.substr(at + 8);
        text = text.substr(0, at + 1);
    }
    const Vocabulary known{samplers, rules};
    const auto conversion =
        importing::convert(text, "fuzz.yaml", tool, known, [&](const std::string&) -> Result<std::string> {
            if (other.empty()) return Error{"space.json: No such file or directory"};
            return other;
        });
    if (!conversion) {
        const std::string& error = conversion.error().message;
        require(!error.empty());
        check_printable(error);
        require(!error.starts_with("fuzz.yaml: cannot be written as a study") || too_large(error));
        return 0;
    }
    check_printable(conversion->yaml);
    for (const std::string& remark : conversion->remarks) {
        check_printable(remark);
        require(remark.find('\n') == std::string::npos);
    }
    const auto study = parse_study(conversion->yaml, "written.yaml", {}, known);
    require(study.ok() && study->script() && study->script()->metrics.has_value());
    return 0;
}
