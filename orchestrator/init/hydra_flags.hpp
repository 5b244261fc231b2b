// The overrides that a script of Hydra takes, found in its text and its configuration without running it. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/init/script_flags.hpp"

namespace hpo::init {

/// Returns the text of a file, whose path is relative to the script's folder; nothing if it cannot be read.
using ReadConfiguration = std::function<std::optional<std::string>(const std::string& path)>;

inline std::optional<std::string> no_configuration(const std::string& /*path*/) { return std::nullopt; }

/// The primary configuration that hydra.main names.
struct HydraMain {
    std::string path;                                                    ///< of its folder; empty: that of the script
    std::string name;                                                    ///< "config"
    [[nodiscard]] std::string file_of(const std::string& config) const;  ///< "conf/model/mlp.yaml" of "model/mlp"
    [[nodiscard]] std::string file() const { return file_of(name); }
};

/// Returns nothing if the script is none of Hydra.
std::optional<HydraMain> hydra_main(std::string_view python);

/// Returns one flag for each scalar of the configuration and of the groups in its list of defaults, in the order of the
/// files. An Error names the file that cannot be read.
Result<std::vector<Flag>> hydra_flags(const HydraMain& main, const ReadConfiguration& read);

}  // namespace hpo::init
