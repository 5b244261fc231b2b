#include "worker/training/evaluator.hpp"

#include <algorithm>

#include "worker/training/task_loss.hpp"

namespace hpo {

/// Adds the rows of a micro-batch that was evaluated to the tally of each replica from `first` on.
template <class Label>
void Evaluator::tally(const Tensor& logits, const Tensor& labels, int first, std::span<ClassTally> tallies) {
    constexpr std::int64_t at_once = std::int64_t{1} << 18;  // numbers
    const std::int64_t rows = std::max<std::int64_t>(1, at_once / logits.columns);
    const std::int64_t columns = labels.elements() / logits.rows;
    std::vector<float> numbers;
    std::vector<Label> its;
    for (std::int64_t from = 0; from < logits.rows; from += rows) {
        const std::int64_t here = std::min(rows, logits.rows - from);
        numbers.resize(static_cast<std::size_t>(here * logits.columns));
        its.resize(static_cast<std::size_t>(here * columns));
        for (std::size_t k = 0; k < tallies.size(); ++k) {
            const int replica = first + static_cast<int>(k);
            stream_.read(logits.slice(from * logits.columns, here, logits.columns), replica, std::span(numbers));
            stream_.read(labels.slice(from * columns, here, columns), replica, std::span(its));
            tallies[k].add(numbers, std::span<const Label>(its));
        }
    }
}

bool Evaluator::evaluate(const Samples& samples, std::int64_t all, int first, std::span<Replica> replicas,
                         const ShouldContinue& should_continue) {
    stream_.select_replicas(first, static_cast<int>(replicas.size()));
    const std::int64_t targets_of_all = all * plan_.model->targets();
    std::vector<ClassTally> tallies;
    if (plan_.task != Task::regression && plan_.shared.class_metrics)
        tallies.assign(replicas.size(), ClassTally(plan_.model->outputs(), plan_.ranks_classes));
    bool goes_on = true;
    if (feed_.stages()) {
        folds_.clear();
        for (const Replica& replica : replicas) folds_.push_back(replica.spec.fold);
        feed_.begin_rows(samples, all, folds_);
    }
    for (std::int64_t from = 0; from < all && (goes_on = should_continue()); from += plan_.pace.rows) {
        const std::int64_t rows = std::min(plan_.pace.rows, all - from);
        const Tensor input = plan_.arena.input.first_rows(rows);
        const Tensor targets = plan_.arena.targets.first_rows(rows);
        if (feed_.stages()) feed_.send_rows(samples, from, rows, first);
        stream_.enqueue(Gather{.samples = feed_.source(samples),
                               .output = input,
                               .targets = targets,
                               .first = feed_.stages() ? 0 : from,
                               .fold = plan_.numbers.fold});
        const Tensor outputs = plan_.model->forward(stream_, plan_.arena.evaluated(), input, nullptr);
        if (!tallies.empty())
            plan_.task == Task::classification ? tally<std::int32_t>(outputs, targets, first, tallies)
                                               : tally<float>(outputs, targets, first, tallies);
        compute_loss(stream_, plan_,
                     {.outputs = outputs,
                      .targets = targets,
                      .smoothing = plan_.numbers.no_smoothing,
                      .weight = 1.0F / static_cast<float>(targets_of_all),
                      .write = from == 0 ? Write::set : Write::add});
    }
    for (std::size_t i = 0; goes_on && i < replicas.size(); ++i) {
        const int k = first + static_cast<int>(i);
        Evaluation& evaluation = replicas[i].evaluation;
        evaluation.loss = stream_.read<float>(plan_.arena.loss, k);
        if (plan_.task == Task::regression)
            evaluation.absolute = stream_.read<float>(plan_.arena.absolute, k);
        else
            evaluation.accuracy =
                static_cast<double>(stream_.read<std::int32_t>(plan_.arena.correct, k)) /
                static_cast<double>(targets_of_all * (plan_.task == Task::multi_label ? plan_.model->outputs() : 1));
        if (!tallies.empty()) evaluation.of_classes = tallies[i].metrics();
    }
    return goes_on;
}

}  // namespace hpo
