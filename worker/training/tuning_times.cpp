// The short trainings, convolutions and products by which a device is tuned.
#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "worker/data/device_data.hpp"
#include "worker/training/fusion.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/trainer.hpp"
#include "worker/training/tuning.hpp"

namespace hpo {
namespace {

constexpr int tuned_replicas = 16;            // side by side, about as many as share a worker
constexpr std::int64_t tuned_iterations = 8;  // of a step
constexpr int tuned_steps = 4;                // the first loads code and records, and is not timed
constexpr std::size_t most_tuned_bytes = std::size_t{4} << 30;
constexpr Seconds most_tuned_time{4};  // for all measurements: a device that is slower than that has nothing to gain

/// Returns true if `bytes` may be allocated for a moment.
bool may_take(Device& device, std::size_t bytes) {
    const auto left = device.memory_left();
    const DeviceMemory memory = device.memory();
    const std::size_t free = left ? left->free : memory.total_bytes;  // 0: not known
    return bytes <= most_tuned_bytes && (free == 0 || bytes <= free / 4) &&
           (memory.largest_piece == 0 || bytes <= memory.largest_piece);
}

Configuration tuned_configuration(std::int64_t batch, std::int64_t width) {
    auto configuration = read_configuration({{"format", std::string("synthetic")},
                                             {"samples", std::int64_t{4608}},
                                             {"features", std::int64_t{128}},
                                             {"classes", std::int64_t{10}},
                                             {"hidden", std::vector<std::int64_t>{width, width}},
                                             {"activation", std::string("gelu")},
                                             {"dropout", 0.1},
                                             {"schedule", std::string("constant")},
                                             {"eval_every", tuned_iterations},
                                             {"batch_size", batch}});
    if (!configuration) throw std::logic_error(configuration.error().message);
    configuration->data.placement = Placement::device;
    // Exactly this batch and these widths, in the layout of padded trials.
    return bucket_of(*std::move(configuration), {{batch, batch}, {width, width}});
}

/// Times updates of trials that are alike, on data that is loaded once.
class UpdateTimer {
   public:
    UpdateTimer(Device& device, const Clock& clock)
        : device_(device), clock_(clock), until_(clock.now() + most_tuned_time) {}

    /// Returns true if time is left; otherwise notes that a time will be missing.
    [[nodiscard]] bool has_time() {
        cut_off_ = cut_off_ || clock_.now() >= until_;
        return !cut_off_;
    }
    [[nodiscard]] bool cut_off() const { return cut_off_; }

    std::optional<double> operator()(std::int64_t batch, std::int64_t width, bool in_backward) {
        if (!has_time()) return std::nullopt;
        Configuration configuration = tuned_configuration(batch, width);
        configuration.training.eval_every = tuned_iterations;  // a bucket does not contain it
        configuration.training.backward_updates = in_backward ? batch : 0;
        if (!data_) {
            auto loaded = load_to_device(device_, configuration.data, 1, [] {});
            if (!loaded) return std::nullopt;
            data_ = *std::move(loaded);
        }
        auto plan = plan_group(configuration, data_->shape, data_->sizes, tuned_replicas, Fusion::padded);
        auto alone = plan_group(configuration, data_->shape, data_->sizes, 1);
        if (!plan || !alone || !may_take(device_, plan->arena.bytes)) return std::nullopt;
        auto arena = device_.allocate(plan->arena.bytes);
        if (!arena) return std::nullopt;
        std::vector<ReplicaSpec> replicas;
        for (std::uint64_t seed = 1; seed <= tuned_replicas; ++seed)
            replicas.push_back({configuration.training, seed, alone->model.get()});
        try {
            Trainer trainer(device_, **arena, *std::move(plan), *data_, replicas, tuned_steps, clock_);
            std::optional<double> least;
            for (int step = 0; step < tuned_steps; ++step) {
                if (!trainer.train_step([this] { return has_time(); })) return std::nullopt;
                const double seconds = trainer.step_seconds_of(0) / static_cast<double>(tuned_iterations);
                if (step > 0) least = std::min(least.value_or(seconds), seconds);
            }
            return least;
        } catch (const std::bad_alloc&) {
            return std::nullopt;
        }
    }

   private:
    Device& device_;
    const Clock& clock_;
    Seconds until_;
    bool cut_off_ = false;
    std::unique_ptr<DeviceData> data_;
};

/// Times the patches and the products of a convolution over 64 images of 32 x 32 pixels and 64 channels, part by part.
std::optional<double> convolution_time(Device& device, const Clock& clock, std::int64_t part_bytes) {
    constexpr Patches patches{.height = 32, .width = 32, .channels = 64};
    constexpr std::int64_t images = 64, outputs = 64;
    const std::int64_t each = 4 * patches.out_pixels() * patches.elements();
    const std::int64_t part = std::clamp<std::int64_t>(part_bytes / each, 1, images);
    Layout layout(1);
    const Tensor input = layout.add(Type::f32, images * patches.in_pixels(), patches.channels);
    const Tensor unfolded = layout.add(Type::f32, part * patches.out_pixels(), patches.elements());
    const Tensor weight = layout.add(Type::f32, outputs, patches.elements());
    const Tensor output = layout.add(Type::f32, images * patches.out_pixels(), outputs);
    if (!may_take(device, layout.bytes())) return std::nullopt;
    auto arena = device.allocate(layout.bytes());
    if (!arena) return std::nullopt;
    try {
        const auto stream = device.stream(**arena, 1);
        std::optional<double> least;
        for (int time = 0; time < tuned_steps; ++time) {
            const Seconds begin = clock.now();
            for (std::int64_t first = 0; first < images; first += part) {
                const std::int64_t count = std::min(part, images - first);
                const std::int64_t in = count * patches.in_pixels(), out = count * patches.out_pixels();
                const Tensor rows = unfolded.first_rows(out);
                stream->enqueue(Unfold{
                    patches, input.slice(first * patches.in_pixels() * patches.channels, in, patches.channels), rows});
                stream->enqueue(
                    Linear{rows, weight, output.slice(first * patches.out_pixels() * outputs, out, outputs)});
            }
            stream->synchronise();
            const double seconds = (clock.now() - begin).count();
            if (time > 0) least = std::min(least.value_or(seconds), seconds);
        }
        return least;
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

/// Times a product of `rows` rows of 512 numbers with a matrix of 512 x 512, as those of a transformer's blocks are.
/// Several follow each other without a wait, as in training.
std::optional<double> product_time(Device& device, const Clock& clock, std::int64_t rows) {
    constexpr std::int64_t width = 512;
    constexpr int products = 10, times = 3;
    Layout layout(1);
    const Tensor input = layout.add(Type::f32, rows, width);
    const Tensor weight = layout.add(Type::f32, width, width);
    const Tensor output = layout.add(Type::f32, rows, width);
    if (!may_take(device, layout.bytes())) return std::nullopt;
    auto arena = device.allocate(layout.bytes());
    if (!arena) return std::nullopt;
    try {
        const auto stream = device.stream(**arena, 1);
        std::optional<double> least;
        for (int time = 0; time < times; ++time) {
            const Seconds begin = clock.now();
            for (int product = 0; product < products; ++product) stream->enqueue(Linear{input, weight, output});
            stream->synchronise();
            const double seconds = (clock.now() - begin).count() / products;
            if (time > 0) least = std::min(least.value_or(seconds), seconds);
        }
        return least;
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

}  // namespace

TuningTimes times_on(Device& device, const Clock& clock) {
    const auto timer = std::make_shared<UpdateTimer>(device, clock);
    constexpr std::int64_t usual_width = 256;
    return {[timer](std::int64_t batch, std::int64_t width) { return (*timer)(batch, width, false); },
            [timer](std::int64_t batch) { return (*timer)(batch, usual_width, true); },
            [timer, &device, &clock](std::int64_t part_bytes) {
                return timer->has_time() ? convolution_time(device, clock, part_bytes) : std::nullopt;
            },
            [timer, &device, &clock](std::int64_t rows) {
                return timer->has_time() ? product_time(device, clock, rows) : std::nullopt;
            },
            [timer] { return timer->cut_off(); }};
}

}  // namespace hpo
