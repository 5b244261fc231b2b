// A study that this process holds: its folder is locked, and its ledger is open and replayed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/continuation.hpp"

namespace hpo {

/// Decides whether a stored study, whose source is `before`, may continue as another one, and returns its changes.
/// `valued` returns true if a stored trial has a value. An Error refuses it.
using Acceptance = std::function<Result<Continuation>(const std::string& before, const std::function<bool()>& valued)>;

struct HeldStudy {
    HolderLock lock;
    Takeback takeback;  ///< removes the traces of a study that is given up before it begins
    std::unique_ptr<Store> store;
    Ledger ledger;
    Continuation changes = {};    ///< of the stored study; none if the study is new
    std::string warm_start = {};  ///< trials of other studies that this one learns from, as stored text

    /// Locks the study and replays its ledger. Fails without a change if the sampler or a rule cannot be made, the
    /// folder cannot be written, another process holds the study, or the database is damaged. `accepted` returns an
    /// error if the stored study may not continue as this one. `warn` is called with warnings while the study is in use
    /// (a database that another program has locked). `study` outlives the result.
    static Result<std::unique_ptr<HeldStudy>> take(const Study& study, const StudyFolder& folder,
                                                   const Acceptance& accepted,
                                                   const std::function<void(const std::string&)>& warn);

    /// Stores the study if it is new, so that viewers can read it before it begins. Taken back if it never does.
    Result<void> show(const Study& study);
    /// Writes this study to its folder, in place of the stored one.
    Result<void> begin(const Study& study, const StudyFolder& folder,
                       const std::function<void(const std::string&)>& warn);
};

}  // namespace hpo
