#include "orchestrator/script/syntax/coco_summary.hpp"

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

/// Returns the text behind `key`, without blanks, up to the next bar or bracket.
string_view value_of(string_view line, string_view key) {
    const auto at = line.find(key);
    if (at == string_view::npos) return {};
    const string_view rest = line.substr(at + key.size());
    return trim(rest.substr(0, rest.find_first_of("|]")));
}

}  // namespace

bool read_coco_summary(string_view line, Reading& reading) {
    const bool precision = line.find("(AP) @[") != string_view::npos;
    if (!precision && line.find("(AR) @[") == string_view::npos) return false;
    const string_view overlap = value_of(line, "IoU="), area = value_of(line, "area="),
                      most = value_of(line, "maxDets=");
    const auto end = line.find("] =");
    if (overlap.empty() || area.empty() || most.empty() || end == string_view::npos) return false;
    string name = (precision ? "AP@" : "AR@") + string(overlap);
    if (area != "all") name += '_' + string(area);
    if (!precision && most != "100") name += "_max" + string(most);
    set_text(reading, name, line.substr(end + 3));
    return true;
}

}  // namespace hpo::script
