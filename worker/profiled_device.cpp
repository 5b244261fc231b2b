#include "worker/profiled_device.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace hpo {
namespace {

class ProfiledStream final : public Stream {
   public:
    ProfiledStream(std::unique_ptr<Stream> stream, const Clock& clock, Profile& profile)
        : stream_(std::move(stream)), clock_(clock), profile_(profile), selected_(stream_->replicas()) {}

    [[nodiscard]] int replicas() const override { return stream_->replicas(); }
    void select_replicas(int first, int count) override {
        selected_ = count;
        stream_->select_replicas(first, count);
    }
    void write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) override {
        stream_->write_bytes(to, replica, data);
    }
    void read_bytes(const Tensor& from, int replica, std::span<std::byte> data) override {
        stream_->read_bytes(from, replica, data);
    }
    void synchronise() override { stream_->synchronise(); }
    void copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) override {
        stream_->copy_from(arena, from, to);
    }
    std::unique_ptr<Stage> stage(std::size_t bytes) override { return stream_->stage(bytes); }
    [[nodiscard]] bool updates_in_backward() const override { return stream_->updates_in_backward(); }
    void repeat(std::uint64_t name, const std::function<void()>& operations) override {
        profile_.recording ? operations() : stream_->repeat(name, operations);
    }

    [[nodiscard]] bool convolves() const override { return stream_->convolves(); }

    void enqueue(const Operation& operation) override {
        if (!profile_.recording) return stream_->enqueue(operation);
        const Seconds begin = clock_.now();
        stream_->enqueue(operation);
        stream_->synchronise();
        record(name_of(operation), work_of(operation), clock_.now() - begin);
        if (!std::holds_alternative<Advance>(operation)) return;
        for (ProfiledOperation& one : profile_.operations) one.updates.push_back(std::exchange(one.seconds, 0));
    }

   private:
    void record(std::string_view name, const Work& work, Seconds took) {
        auto& all = profile_.operations;
        auto found = std::find_if(all.begin(), all.end(), [&](const ProfiledOperation& one) {
            return one.name == name && one.shape == work.shape;
        });
        if (found == all.end()) found = all.insert(all.end(), {.name = name, .shape = work.shape});
        ++found->calls;
        found->seconds += took.count();
        found->flops += selected_ * work.flops;
        found->bytes += selected_ * work.bytes;
    }

    std::unique_ptr<Stream> stream_;
    const Clock& clock_;
    Profile& profile_;
    int selected_;
};

class ProfiledDevice final : public Device {
   public:
    ProfiledDevice(Device& device, const Clock& clock, Profile& profile)
        : device_(device), clock_(clock), profile_(profile) {}

    [[nodiscard]] std::string_view backend() const override { return device_.backend(); }
    [[nodiscard]] std::string name() const override { return device_.name(); }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        return device_.computes_in(precision);
    }
    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override { return device_.allocate(bytes); }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override {
        return std::make_unique<ProfiledStream>(device_.stream(arena, replicas), clock_, profile_);
    }

   private:
    Device& device_;
    const Clock& clock_;
    Profile& profile_;
};

}  // namespace

std::unique_ptr<Device> profiled(Device& device, const Clock& clock, Profile& profile) {
    return std::make_unique<ProfiledDevice>(device, clock, profile);
}

}  // namespace hpo
