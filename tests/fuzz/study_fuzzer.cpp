// Fuzzes the parser of study files. It must end with a study or with printable errors. A study that was accepted must
// be written as a file that is read as the same study. Leading lines "#set key=value" are overrides.
#include <cstdint>

#include "hpo/worker_keys.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/study/utf8.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

/// Options of every type, as in a registry.
constexpr Option options[] = {
    {"patience", OptionType::integer, 1, 1e6, "", "3", ""},    {"min_delta", OptionType::real, 0, 1e9, "", "0.001", ""},
    {"mode", OptionType::text, 0, 0, "fast|slow", "fast", ""}, {"label", OptionType::text, 0, 0, "", "", ""},
    {"rungs", OptionType::list, 1, 100, "", "", ""},           {"strict", OptionType::flag, 0, 0, "", "false", ""},
};
constexpr PartOptions parts[] = {{"auto", "", {}}, {"plateau", "", options}, {"tpe", "", options}};

void check_error(const std::string& text) {
    require(!text.empty() && text.size() < 64 * 1024);
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = study::code_point_length(rest);
        require(length > 0 && !study::is_control(rest.substr(0, length)));
        rest.remove_prefix(length);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> set;
    while (text.starts_with("#set ") && set.size() < 4) {
        const auto end = text.find('\n');
        set.emplace_back(text.substr(5, end == std::string_view::npos ? end : end - 5));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    const Vocabulary known{parts, parts};
    const Vocabulary vocabulary = size % 2 == 0 ? known : Vocabulary{};
    const auto read = parse_study(text, "fuzz.yaml", set, vocabulary);
    if (!read) {
        check_error(read.error().message);
        return 0;
    }
    const std::string written = write_study(*read);
    const auto again = parse_study(written, "written.yaml", {}, vocabulary);
    require(again.ok());
    require(write_study(*again) == written);
    require(compare(*read, *again).empty());
    require(!describe(read->space).empty());
    for (const Dimension& dimension : read->space) require(!describe(dimension).empty());
    return 0;
}
