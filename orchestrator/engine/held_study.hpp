// A study that this process holds: its folder is locked, its ledger is open and read.
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

namespace hpo {

/// Decides whether a stored study, whose source is `before`, may go on with another one. `valued` returns true if one
/// of its trials has a value.
using Acceptance = std::function<Result<void>(const std::string& before, const std::function<bool()>& valued)>;

struct HeldStudy {
    HolderLock lock;
    Takeback takeback;  ///< a study that is given up before it begins leaves nothing behind
    std::unique_ptr<Store> store;
    Ledger ledger;
    std::string warm_start = {};  ///< the trials of other studies that this one learns from, as text, to be kept

    /// Takes the study and reads what it has done. Fails, and then leaves it as it was: the sampler or a rule cannot be
    /// made, the folder cannot be written, another process holds the study, the database is not sound. `accepted`
    /// decides whether the stored study may go on with this one. `warn` gets what a user should know while the study is
    /// used (a database that another program has locked). `study` outlives it.
    static Result<std::unique_ptr<HeldStudy>> take(const Study& study, const StudyFolder& folder,
                                                   const Acceptance& accepted,
                                                   const std::function<void(const std::string&)>& warn);

    /// From here on the study is this one, in its folder.
    Result<void> begin(const Study& study, const StudyFolder& folder,
                       const std::function<void(const std::string&)>& warn);
};

}  // namespace hpo
