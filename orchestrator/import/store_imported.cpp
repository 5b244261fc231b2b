#include "orchestrator/import/store_imported.hpp"

#include <unistd.h>

#include <numeric>
#include <utility>
#include <vector>

#include "hpo/version.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/sampling/study_cube.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo::importing {

namespace {

/// Returns the event with the point of the cube by which a sampler knows the trial. A parameter that the trial lacks is
/// in the middle.
Event with_point(Event event, const CubeMap& map) {
    if (auto* proposed = std::get_if<event::Proposed>(&event)) {
        const Point middle(map.space().size(), 0.5);
        const auto point = map.point(map.params(middle, proposed->params));
        proposed->point = point ? *point : middle;
    }
    return event;
}

Result<void> add_events(Store& store, const ImportedStudy& imported, const CubeMap& map) {
    StudyRecord record;
    const auto add = [&](const Event& event) -> Result<void> {
        const auto stored = store.add(event);
        if (!stored) return stored.error();
        apply(record, *stored, imported.study.objective);
        return {};
    };
    if (auto added = add(event::SessionStarted{host_name(), ::getpid(), version}); !added) return added;
    for (const Event& event : imported.events)
        if (auto added = add(with_point(event, map)); !added) return added;
    if (auto added = add(event::SessionEnded{imported.seconds, "imported", SessionEnd::finished}); !added) return added;
    if (auto flushed = store.flush(); !flushed) return flushed;
    std::vector<std::int64_t> trials(record.trials.size());
    std::iota(trials.begin(), trials.end(), std::int64_t{1});
    if (auto summarized = store.summarize(record, trials); !summarized) return summarized;
    return store.settle();
}

}  // namespace

Result<void> store_imported(const ImportedStudy& imported, const StudyFolder& folder) {
    const auto cube = cube_of(imported.study);
    if (!cube) return cube.error();
    std::vector<std::filesystem::path> missing = missing_parts(folder);
    if (const auto made = make_study_folder(folder); !made) return made.error();
    const auto lock = HolderLock::take(folder);
    if (!lock) return lock.error();
    Takeback takeback(std::move(missing));
    auto store = open_store(folder.database());
    if (!store) return store.error();
    if (!(*store)->source().empty())
        return Error{"study " + imported.study.name + " exists already: import under another name by --name"};
    if (auto added = add_events(**store, imported, **cube); !added) return added;
    if (auto kept = (*store)->set_source(imported.study.source); !kept) return kept;
    if (auto written = replace_file(folder.yaml(), imported.study.source); !written) return written;
    takeback.forget();
    return {};
}

}  // namespace hpo::importing
