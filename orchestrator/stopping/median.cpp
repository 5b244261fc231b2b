// Median: stops a trial whose best value so far is worse than the median of the other trials' running averages at the
// same step (Golovin et al.: "Google Vizier: a service for black-box optimization", KDD 2017). The rule needs no model
// of the curves. Running averages make it robust to a single good step.

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "orchestrator/stopping/followed.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array median_options{
    min_trials_option, grace_option, metric_option, direction_option, within_option,
};

/// The median of a stream of numbers. The smaller and the larger half are kept as heaps.
class RunningMedian {
   public:
    void add(double number) {
        if (lower_.empty() || number <= lower_.front())
            push(lower_, number, std::less<>());
        else
            push(upper_, number, std::greater<>());
        if (lower_.size() > upper_.size() + 1) push(upper_, pop(lower_, std::less<>()), std::greater<>());
        if (upper_.size() > lower_.size()) push(lower_, pop(upper_, std::greater<>()), std::less<>());
    }
    [[nodiscard]] std::size_t count() const { return lower_.size() + upper_.size(); }
    /// Returns the median, which is the mean of the two middle numbers if their count is even. Returns 0 if there are
    /// no numbers.
    [[nodiscard]] double middle() const {
        if (lower_.empty()) return 0;
        return lower_.size() > upper_.size() ? lower_.front() : (lower_.front() + upper_.front()) / 2;
    }

   private:
    using Heap = std::vector<double>;
    template <class Order>
    static void push(Heap& heap, double number, Order order) {
        heap.push_back(number);
        std::push_heap(heap.begin(), heap.end(), order);
    }
    template <class Order>
    static double pop(Heap& heap, Order order) {
        std::pop_heap(heap.begin(), heap.end(), order);
        const double number = heap.back();
        heap.pop_back();
        return number;
    }
    Heap lower_;  ///< the smaller half, as a max-heap
    Heap upper_;  ///< the larger half, as a min-heap
};

/// The state of a trial's curve.
struct MedianCourse {
    WatchedMetric metric;
    double best = 0, sum = 0;
    std::int64_t count = 0;

    void add(const Report& report) {
        const auto value = metric(report);
        if (!value) return;
        if (count == 0 || metric.better(*value, best)) best = *value;
        sum += *value;
        ++count;
    }
};

class Median final : public StoppingRule {
   public:
    explicit Median(const RuleSetup& setup)
        : metric_(watched_metric(setup.options, setup.objective)),
          unit_(setup.unit),
          min_trials_(static_cast<std::size_t>(number_option(setup.options, median_options, "min_trials"))),
          grace_(static_cast<std::int64_t>(number_option(setup.options, median_options, "grace"))),
          courses_({.metric = metric_}) {}

   private:
    Verdict judge(const TrialRecord& trial) override {
        const MedianCourse& course = courses_.at(trial);
        const std::int64_t step = trial.steps();
        if (!metric_(trial.curve.back())) return {.lasting = true};  // A repetition counts as judged.
        RunningMedian& averages = averages_[step];  // Only other trials: each step is judged once per trial.
        const std::size_t others = averages.count();
        const double middle = averages.middle();
        averages.add(course.sum / static_cast<double>(course.count));
        if (step < grace_ || others < min_trials_ || !metric_.better(middle, course.best)) return {.lasting = true};
        const auto [own, median] = shown_apart(course.best, middle);
        return {to_worker::Action::stop, "median",
                "best " + metric_.name + " " + own + " after " + counted(step, unit_) + " is worse than the median " +
                    median + " of " + std::to_string(others) + " trials",
                true};
    }
    void went_back(std::int64_t trial) override { courses_.forget(trial); }
    void on_end(const TrialRecord& trial) override { courses_.forget(trial.number); }

    WatchedMetric metric_;
    std::string unit_;  ///< the name of a step in reasons
    std::size_t min_trials_;
    std::int64_t grace_;
    Followed<MedianCourse> courses_;
    std::map<std::int64_t, RunningMedian> averages_;  ///< running averages of the trials, by step
};

}  // namespace

constinit const RuleRow median_row{
    {"median", "ends trials that are worse than the median of the others at the same step", median_options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Median>(setup); }};

}  // namespace hpo
