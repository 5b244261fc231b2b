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
    const string_view value = trim(line.substr(end + 3));
    if (value.starts_with("-1.0"))
        reading.unread.push_back(name);
    else
        set_text(reading, name, value);
    return true;
}

string_view coco_task(string_view line) {
    constexpr string_view openings[] = {"metric: ", "type *", "results for ", "Task: ", "Evaluating "};
    constexpr string_view tasks[] = {"bbox", "segm", "keypoints"};
    for (const string_view opening : openings)
        for (const string_view task : tasks)
            if (const auto at = line.find(string(opening) + string(task)); at != string_view::npos) {
                const string_view rest = line.substr(at + opening.size() + task.size());
                if (rest.empty() || string_view(" *:.").find(rest.front()) != string_view::npos) return task;
            }
    return {};
}

void label_coco_task(string_view task, Reading& reading) {
    if (task.empty() || task == "bbox") return;
    for (NamedNumber& metric : reading.metrics)
        if (metric.name.starts_with("AP") || metric.name.starts_with("AR")) {
            metric.bare = metric.name;
            metric.name = string(task) + '_' + metric.name;
        }
}

}  // namespace hpo::script
