#include "worker/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hpo/version.hpp"
#include "worker/backends/gpu/cuda_libraries.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/process_memory.hpp"

namespace hpo {
namespace {

using Json = nlohmann::json;

constexpr std::array precisions{Precision::float32, Precision::tf32, Precision::bfloat16, Precision::float16};
constexpr std::size_t most_measurements = 5, least_measurements = 2;
constexpr double long_operation = 0.5;  // seconds of one operation of which there are fewer measurements

/// Seconds of one operation: least, median and most of the measurements.
struct Timing {
    double least = 0, median = 0, most = 0;
};

/// `enqueue` is called as often as fits into `seconds` before each wait for the device.
Timing time_of(Stream& stream, const Clock& clock, double seconds, const std::function<void()>& enqueue) {
    const auto measure = [&](int times) {
        const Seconds begin = clock.now();
        for (int i = 0; i < times; ++i) enqueue();
        stream.synchronise();
        return std::max((clock.now() - begin).count(), 1e-9);
    };
    double took = measure(1);  // loads code
    int times = 1;
    if (took < long_operation)
        while ((took = measure(times)) < seconds / 4 && times < (1 << 20)) times *= 2;
    std::vector<double> all(took > long_operation ? least_measurements : most_measurements);
    for (double& one : all) one = measure(times) / times;
    std::sort(all.begin(), all.end());
    return {all.front(), all[all.size() / 2], all.back()};
}

void add_timing(Json& json, const Timing& timing) {
    json["seconds"] = timing.median;
    json["least"] = timing.least;
    json["most"] = timing.most;
}

/// Bytes that may be taken for measuring.
std::size_t allowance(Device& device) {
    std::size_t free = std::numeric_limits<std::size_t>::max();
    if (const auto left = device.memory_left()) free = left->free;
    if (!device.memory().of_its_own || device.memory().shared_with_host)
        if (const auto available = available_bytes()) free = std::min(free, static_cast<std::size_t>(*available));
    if (const auto largest = device.memory().largest_piece) free = std::min(free, largest * 4);
    return free / 4;
}

class Calibration {
   public:
    Calibration(Device& device, const Clock& clock, const CalibrationOptions& options,
                const std::function<void(const Json&)>& emit)
        : device_(device), clock_(clock), options_(options), emit_(emit), allowance_(allowance(device)) {}

    void run() {
        emit_({{"measured", "device"},
               {"backend", device_.backend()},
               {"name", device_.name()},
               {"identity", identity_of(device_)},
               {"remark", device_.remark()}});
        launches();
        bandwidth();
        copies();
        for (const Precision precision : precisions) {
            if (!device_.computes_in(precision)) continue;
            double rate = 0;  // of the last product
            for (const ProductShape& shape : options_.products) product(shape, precision, rate);
        }
    }

   private:
    /// A stream on an arena for this layout; nothing if it cannot be had.
    struct Work {
        std::unique_ptr<Buffer> arena;
        std::unique_ptr<Stream> stream;
    };
    std::optional<Work> work(const Layout& layout) {
        if (layout.bytes() > allowance_) return std::nullopt;
        try {
            auto arena = device_.allocate(layout.bytes());
            if (!arena) return std::nullopt;
            auto stream = device_.stream(**arena, layout.replicas());
            return Work{std::move(*arena), std::move(stream)};
        } catch (const std::bad_alloc&) {
            return std::nullopt;
        }
    }

    /// The cost of an operation that does nothing to speak of, in a queue and with a wait for each.
    void launches() {
        Layout layout(1);
        const Tensor one = layout.add(Type::f32, 1, 1);
        auto on = work(layout);
        if (!on) return;
        Json json{{"measured", "launch"}};
        add_timing(json, time_of(*on->stream, clock_, options_.seconds, [&] { on->stream->enqueue(Fill{one, 1}); }));
        emit_(json);
        json = {{"measured", "launch_and_wait"}};
        add_timing(json, time_of(*on->stream, clock_, options_.seconds, [&] {
                       on->stream->enqueue(Fill{one, 1});
                       on->stream->synchronise();
                   }));
        emit_(json);
    }

    /// ReLU in place reads and writes each element once.
    void bandwidth() {
        const std::size_t bytes = std::min(options_.streamed, allowance_ / 2);
        const std::int64_t columns = 1024, rows = static_cast<std::int64_t>(bytes / 4 / 1024);
        if (rows < 1) return;
        Layout layout(1);
        const Tensor numbers = layout.add(Type::f32, rows, columns);
        auto on = work(layout);
        if (!on) return;
        Activate relu;
        relu.activation = Activation::relu;
        relu.pre = relu.output = numbers;
        const Timing timing = time_of(*on->stream, clock_, options_.seconds, [&] { on->stream->enqueue(relu); });
        Json json{{"measured", "memory"}, {"bytes", 2 * numbers.bytes()}};
        add_timing(json, timing);
        emit_(json);
    }

    void copies() {
        const std::size_t bytes = std::min(options_.copied, allowance_ / 2);
        Layout layout(1);
        const Tensor numbers = layout.add(Type::f32, 1, static_cast<std::int64_t>(bytes / 4));
        auto on = work(layout);
        if (!on) return;
        std::vector<std::byte> host(numbers.bytes());
        for (const bool to_device : {true, false}) {
            Json json{{"measured", to_device ? "copy_to_device" : "copy_to_host"}, {"bytes", numbers.bytes()}};
            add_timing(json, time_of(*on->stream, clock_, options_.seconds, [&] {
                           if (to_device)
                               on->stream->write_bytes(numbers, 0, host);
                           else
                               on->stream->read_bytes(numbers, 0, host);
                       }));
            emit_(json);
        }
    }

    /// `rate`: flops a second of the product before, by which the time of this one is predicted.
    void product(const ProductShape& shape, Precision precision, double& rate) {
        Json json{
            {"measured", "product"},    {"precision", to_text(precision)},
            {"rows", shape.rows},       {"inputs", shape.inputs},
            {"outputs", shape.outputs}, {"replicas", shape.replicas},
            {"flops", shape.flops()},   {"bytes", shape.bytes(static_cast<double>(size_of(operand_type(precision))))}};
        const auto leave_out = [&](const std::string& reason) {
            json["left_out"] = reason;
            emit_(json);
        };
        const double once = rate > 0 ? shape.flops() / rate : 0;
        if (const double predicted =
                once * static_cast<double>(1 + (once > long_operation ? least_measurements : most_measurements));
            predicted > options_.longest)
            return leave_out("it would take about " + std::to_string(std::lround(predicted)) + " s");

        Layout layout(shape.replicas);
        Linear linear;
        const Type type = operand_type(precision);
        const Tensor input = layout.add(Type::f32, shape.rows, shape.inputs);
        const Tensor weight = layout.add(Type::f32, shape.outputs, shape.inputs);
        linear.input = type == Type::f32 ? input : layout.add(type, shape.rows, shape.inputs);
        linear.weight = type == Type::f32 ? weight : layout.add(type, shape.outputs, shape.inputs);
        linear.output = layout.add(Type::f32, shape.rows, shape.outputs);
        linear.precision = precision;
        const Tensor seed = layout.add_per_replica(Type::u64);
        auto on = work(layout);
        if (!on) return leave_out("it needs " + std::to_string(layout.bytes() >> 20) + " MiB");
        for (int replica = 0; replica < shape.replicas; ++replica) on->stream->write(seed, replica, std::uint64_t{1});
        on->stream->enqueue(Initialise{input, 1, seed, 0});
        on->stream->enqueue(Initialise{weight, 1, seed, 1});
        if (type != Type::f32) {
            on->stream->enqueue(Round{input, linear.input});
            on->stream->enqueue(Round{weight, linear.weight});
        }
        const Timing timing = time_of(*on->stream, clock_, options_.seconds, [&] { on->stream->enqueue(linear); });
        rate = shape.flops() / timing.median;
        add_timing(json, timing);
        emit_(json);
    }

    Device& device_;
    const Clock& clock_;
    const CalibrationOptions& options_;
    const std::function<void(const Json&)>& emit_;
    std::size_t allowance_;
};

}  // namespace

std::vector<ProductShape> standard_products() {
    std::vector<ProductShape> shapes;
    for (const int replicas : {1, 8, 32}) shapes.push_back({256, 512, 512, replicas});
    for (const std::int64_t size : {256, 512, 1024, 2048, 4096, 8000}) shapes.push_back({size, size, size});
    for (const std::int64_t batch : {64, 128, 256, 512}) shapes.push_back({60 * batch, 768, 768});
    return shapes;
}

std::vector<ProductShape> quick_products() {
    std::vector<ProductShape> shapes = standard_products();
    std::erase_if(shapes, [](const ProductShape& shape) { return shape.flops() > 2.0 * 1024 * 1024 * 1024; });
    return shapes;
}

std::string identity_of(const Device& device) {
    std::string identity = "hpo " + std::string(version) + "; " + device.name();
    if (const std::string driver = device.driver(); !driver.empty()) identity += "; driver " + driver;
    if (device.backend() == "cuda") identity += "; " + gpu::libraries_report();
    while (!identity.empty() && identity.back() == '\n') identity.pop_back();
    return identity;
}

void calibrate(Device& device, const Clock& clock, const CalibrationOptions& options,
               const std::function<void(const nlohmann::json&)>& emit) {
    Calibration(device, clock, options, emit).run();
}

}  // namespace hpo
