// Plans the operations of a transformer and the layout of its tensors.
#include <algorithm>

#include "worker/models/transformer.hpp"

namespace hpo {

double Transformer::block_flops() const {
    const auto& s = shape_;
    const std::int64_t perceptron = (s.gated ? 3 : 2) * s.width * s.hidden;
    const std::int64_t scores = 2 * s.steps * s.width;  // a step with all others: products with keys and values
    const std::int64_t block = s.width * (s.projection() + s.width) + perceptron + (s.causal ? scores / 2 : scores);
    return 2.0 * static_cast<double>(s.steps * block);
}

double Transformer::forward_flops() const {
    const std::int64_t entry = shape_.vocabulary > 0 ? 0 : shape_.steps * shape_.width * shape_.features;
    return static_cast<double>(shape_.depth) * block_flops() +
           2.0 * static_cast<double>(entry + targets() * shape_.width * outputs());
}

double Transformer::backward_flops() const {
    const std::int64_t entry = shape_.vocabulary > 0 ? 0 : shape_.steps * shape_.width * shape_.features;
    const auto again = std::count_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.kept; });
    const double down = 2.0 * static_cast<double>(shape_.steps * shape_.width * shape_.hidden);
    return 2 * forward_flops() - 2.0 * static_cast<double>(entry) + static_cast<double>(again) * (block_flops() - down);
}

void Transformer::plan(Layout& layout, const ModelPlan& plan) {
    const std::int64_t samples = plan.rows, rows = samples * shape_.steps, width = shape_.width;
    precision_ = plan.precision;
    const auto add = [&](std::int64_t columns) { return layout.add(Type::f32, rows, columns); };
    const auto add_norm = [&](Norm& norm) {
        norm.mean = add(1);
        norm.rstd = add(1);
        norm.output = add(width);
    };
    // Tensors laid out since the last call belong to this part.
    parts_ = {{"attention"}, {"perceptrons"}, {"entry and head"}, {"gradients"}, {"rounded operands"}};
    std::size_t counted = layout.bytes();
    const auto count_as = [&](std::size_t part) {
        parts_[part].bytes += layout.bytes() - counted;
        counted = layout.bytes();
    };
    const std::int64_t up = shape_.gated ? 2 * shape_.hidden : shape_.hidden;
    const auto add_attention = [&](Block& block) {
        add_norm(block.before_attention);
        block.projections = add(shape_.projection());
        block.log_sums = add(shape_.heads);
        block.attended = add(width);
        block.mask = layout.add(Type::u8, rows, width);
        block.middle = add(width);
        count_as(0);
    };
    const auto add_perceptron = [&](Block& block) {
        add_norm(block.before_perceptron);
        block.hidden = add(up);
        block.active = add(shape_.hidden);
        count_as(1);
    };
    const auto share = [](const Block& from, Block& to) {
        for (const auto norm : {&Block::before_attention, &Block::before_perceptron}) {
            (to.*norm).mean = (from.*norm).mean;
            (to.*norm).rstd = (from.*norm).rstd;
            (to.*norm).output = (from.*norm).output;
        }
        for (const auto tensor : {&Block::projections, &Block::log_sums, &Block::attended, &Block::mask, &Block::middle,
                                  &Block::hidden, &Block::active})
            to.*tensor = from.*tensor;
    };
    const Block* shared = nullptr;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        Block& block = blocks_[i];
        block.kept =
            plan.checkpointing == Checkpointing::none || (plan.checkpointing == Checkpointing::alternate && i % 2 == 0);
        if (!block.kept) last_not_kept_ = i;
        if (!block.kept && shared) {
            share(*shared, block);
        } else {
            add_attention(block);
            add_perceptron(block);
            if (!block.kept) shared = &block;
        }
        block.second_mask = layout.add(Type::u8, rows, width);
        block.output = add(width);
        count_as(1);
    }
    entered_ = add(width);
    entry_mask_ = layout.add(Type::u8, rows, width);
    add_norm(last_);
    const std::int64_t output_rows = samples * targets();
    if (targets() == 1) pooled_ = layout.add(Type::f32, samples, width);
    outputs_ = layout.add(Type::f32, output_rows, outputs());
    count_as(2);
    if (targets() == 1) pooled_gradient_ = layout.add(Type::f32, samples, width);
    gradient_ = add(width);
    branch_gradient_ = add(width);
    const std::int64_t widest = std::max(shape_.projection(), up);
    wide_gradient_ = add(widest);
    if (shape_.gated) active_gradient_ = add(shape_.hidden);
    deltas_ = add(shape_.heads);
    count_as(3);
    if (const Type operand = operand_type(precision_); operand != Type::f32) {
        plan_rounded_weights(layout, precision_);
        const std::int64_t widest_input = std::max({width, shape_.hidden, shape_.features});
        rounded_input_ = layout.add(operand, 1, rows * widest_input);
        rounded_gradient_ = layout.add(operand, 1, std::max(rows * std::max(widest, width), output_rows * outputs()));
        count_as(4);
    }
    std::erase_if(parts_, [](const MemoryPart& part) { return part.bytes == 0; });
}

}  // namespace hpo
