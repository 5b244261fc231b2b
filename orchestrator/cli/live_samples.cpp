#include "orchestrator/cli/live_samples.hpp"

#include <unistd.h>

#include <string>

#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/view/telemetry.hpp"

namespace hpo {

LiveSamples::LiveSamples(bool silent) : silent_(silent) {
    if (!silent && view::is_terminal(STDOUT_FILENO)) block_.emplace();
}

void LiveSamples::show(const TelemetrySample& sample, double seconds) {
    if (silent_ || sample.empty()) return;
    const std::string text = view::draw_sample(sample, view::screen_of_stdout());
    if (block_)
        block_->draw(duration_text(seconds) + ", Ctrl-C ends\n" + text);
    else
        print(text);
}

void LiveSamples::end() {
    if (block_) block_->clear();
    block_.reset();
}

}  // namespace hpo
