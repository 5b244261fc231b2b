#include "worker/data/parquet/decoders.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "worker/data/parquet/delta.hpp"
#include "worker/data/parquet/hybrid.hpp"
#include "worker/data/parquet/input.hpp"

namespace hpo::parquet {
namespace {

using Bytes = std::span<const std::byte>;

Error too_short() { return {"damaged: a page ends before its values do"}; }

std::uint64_t little_endian(Bytes bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) number |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    return number;
}

std::uint64_t sign_extended(std::uint64_t number) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(number)});
}

void add_number(Physical type, Bytes bytes, Values& to) {
    const std::uint64_t number = little_endian(bytes);
    to.bits.push_back(type == Physical::int32 ? sign_extended(number) : number);
}

class PlainDecoder final : public Decoder {
   public:
    PlainDecoder(PhysicalType type, Bytes bytes) : type_(type), bytes_(bytes) {}

    Result<void> read(std::size_t count, Values& to) override {
        if (type_.type == Physical::boolean) return read_bits(count, to);
        const std::size_t size = type_.size();
        if (size > 0 && bytes_.size() / size < count) return too_short();
        for (std::size_t i = 0; i < count; ++i) {
            if (type_.type != Physical::bytes) {
                type_.is_bytes() ? static_cast<void>(to.bytes.push_back(text_of(bytes_.first(size))))
                                 : add_number(type_.type, bytes_.first(size), to);
                bytes_ = bytes_.subspan(size);
                continue;
            }
            if (bytes_.size() < 4) return too_short();
            const auto length = static_cast<std::size_t>(little_endian(bytes_.first(4)));
            bytes_ = bytes_.subspan(4);
            if (bytes_.size() < length) return too_short();
            to.bytes.push_back(text_of(bytes_.first(length)));
            bytes_ = bytes_.subspan(length);
        }
        return {};
    }

    [[nodiscard]] bool at_end() const override {
        return type_.type == Physical::boolean ? 8 * bytes_.size() - bit_ < 8 : bytes_.empty();
    }

   private:
    Result<void> read_bits(std::size_t count, Values& to) {
        if (8 * bytes_.size() - bit_ < count) return too_short();
        for (std::size_t i = 0; i < count; ++i) to.bits.push_back(packed_bits(bytes_, bit_++, 1));
        return {};
    }

    PhysicalType type_;
    Bytes bytes_;
    std::size_t bit_ = 0;
};

/// Numbers of the hybrid: booleans as they are, or indices of the dictionary.
class HybridDecoder final : public Decoder {
   public:
    HybridDecoder(Bytes bytes, int width, const Values* dictionary) : numbers_(bytes, width), dictionary_(dictionary) {}

    Result<void> read(std::size_t count, Values& to) override {
        found_.resize(count);
        if (!numbers_.read(found_)) return too_short();
        for (const std::uint32_t number : found_) {
            if (dictionary_ == nullptr)
                to.bits.push_back(number);
            else if (number >= dictionary_->count())
                return Error{"damaged: a value is not in its dictionary"};
            else if (dictionary_->bytes.empty())
                to.bits.push_back(dictionary_->bits[number]);
            else
                to.bytes.push_back(dictionary_->bytes[number]);
        }
        return {};
    }

    [[nodiscard]] bool at_end() const override { return numbers_.at_end(); }

   private:
    HybridReader numbers_;
    const Values* dictionary_;
    std::vector<std::uint32_t> found_;
};

class DeltaNumbersDecoder final : public Decoder {
   public:
    DeltaNumbersDecoder(Bytes bytes, Physical type) : numbers_(bytes), is_short_(type == Physical::int32) {}

    Result<void> read(std::size_t count, Values& to) override {
        const std::size_t first = to.bits.size();
        to.bits.resize(first + count);
        if (!numbers_.read(std::span(to.bits).subspan(first))) return too_short();
        if (is_short_)
            for (std::size_t i = first; i < to.bits.size(); ++i) to.bits[i] = sign_extended(to.bits[i]);
        return {};
    }

    [[nodiscard]] bool at_end() const override { return numbers_.at_end(); }

   private:
    DeltaReader numbers_;
    bool is_short_;
};

/// All lengths, then all texts.
class DeltaLengthDecoder final : public Decoder {
   public:
    explicit DeltaLengthDecoder(Bytes bytes) : lengths_(bytes) {
        if (!DeltaReader(bytes).pass_over(texts_)) texts_ = {};
    }

    Result<void> read(std::size_t count, Values& to) override {
        found_.resize(count);
        if (!lengths_.read(found_)) return too_short();
        for (const std::uint64_t length : found_) {
            if (length > texts_.size()) return too_short();
            to.bytes.push_back(text_of(texts_.first(static_cast<std::size_t>(length))));
            texts_ = texts_.subspan(static_cast<std::size_t>(length));
        }
        return {};
    }

    [[nodiscard]] bool at_end() const override { return lengths_.at_end() && texts_.empty(); }

   private:
    DeltaReader lengths_;
    Bytes texts_;
    std::vector<std::uint64_t> found_;
};

/// Each text begins with a part of the previous one, of this length.
class DeltaTextDecoder final : public Decoder {
   public:
    explicit DeltaTextDecoder(Bytes bytes) : prefixes_(bytes) {
        Bytes rest;
        if (DeltaReader(bytes).pass_over(rest)) suffixes_.emplace(rest);
    }

    Result<void> read(std::size_t count, Values& to) override {
        found_.resize(count);
        endings_.clear();
        if (!suffixes_ || !prefixes_.read(found_)) return too_short();
        if (auto read = suffixes_->read(count, endings_); !read) return read;
        for (std::size_t i = 0; i < count; ++i) {
            if (found_[i] > last_.size())
                return Error{"damaged: a text shares more bytes with the one before it than that one has"};
            last_.resize(static_cast<std::size_t>(found_[i]));
            last_ += endings_.bytes[i];
            // Short pages could make very long texts.
            if (last_.size() > most_text_bytes)
                return Error{"a text of " + std::to_string(last_.size()) + " bytes: too long for the name of a level"};
            to.bytes.push_back(to.made.emplace_back(last_));
        }
        return {};
    }

    [[nodiscard]] bool at_end() const override { return prefixes_.at_end() && suffixes_ && suffixes_->at_end(); }

   private:
    DeltaReader prefixes_;
    std::optional<DeltaLengthDecoder> suffixes_;
    std::vector<std::uint64_t> found_;
    Values endings_;
    std::string last_;
};

/// The first bytes of all values, then their second ones, and so on.
class SplitDecoder final : public Decoder {
   public:
    SplitDecoder(PhysicalType type, Bytes bytes) : type_(type), bytes_(bytes), values_(bytes.size() / type.size()) {}

    Result<void> read(std::size_t count, Values& to) override {
        if (values_ - at_ < count) return too_short();
        std::vector<std::byte> one(type_.size());
        for (std::size_t i = 0; i < count; ++i, ++at_) {
            for (std::size_t byte = 0; byte < one.size(); ++byte) one[byte] = bytes_[byte * values_ + at_];
            type_.is_bytes() ? static_cast<void>(to.bytes.push_back(to.made.emplace_back(text_of(one))))
                             : add_number(type_.type, one, to);
        }
        return {};
    }

    [[nodiscard]] bool at_end() const override { return at_ == values_; }

   private:
    PhysicalType type_;
    Bytes bytes_;
    std::size_t values_, at_ = 0;
};

}  // namespace

std::size_t PhysicalType::size() const {
    switch (type) {
        case Physical::int32:
        case Physical::float32:
            return 4;
        case Physical::int64:
        case Physical::float64:
            return 8;
        case Physical::int96:
            return 12;
        case Physical::fixed:
            return length;
        case Physical::boolean:
        case Physical::bytes:
            break;
    }
    return 0;
}

Result<std::unique_ptr<Decoder>> make_decoder(PhysicalType type, std::int64_t encoding,
                                              std::span<const std::byte> bytes, const Values* dictionary) {
    const auto made = [](auto decoder) { return std::unique_ptr<Decoder>(std::move(decoder)); };
    const bool is_integer = type.type == Physical::int32 || type.type == Physical::int64;
    switch (static_cast<Encoding>(encoding)) {
        case Encoding::plain:
            return made(std::make_unique<PlainDecoder>(type, bytes));
        case Encoding::plain_dictionary:
        case Encoding::rle_dictionary: {
            if (dictionary == nullptr) return Error{"damaged: a page has no dictionary"};
            // The bits of an index come first.
            const int width = bytes.empty() ? 0 : static_cast<int>(bytes.front());
            if (width > 32) return Error{"damaged: an index of a dictionary with " + std::to_string(width) + " bits"};
            return made(std::make_unique<HybridDecoder>(bytes.empty() ? bytes : bytes.subspan(1), width, dictionary));
        }
        case Encoding::rle: {
            if (type.type != Physical::boolean) break;
            if (bytes.size() < 4) return too_short();
            const auto length = static_cast<std::size_t>(little_endian(bytes.first(4)));
            if (bytes.size() - 4 < length) return too_short();
            return made(std::make_unique<HybridDecoder>(bytes.subspan(4, length), 1, nullptr));
        }
        case Encoding::delta_binary_packed:
            if (is_integer) return made(std::make_unique<DeltaNumbersDecoder>(bytes, type.type));
            break;
        case Encoding::delta_length_byte_array:
            if (type.type == Physical::bytes) return made(std::make_unique<DeltaLengthDecoder>(bytes));
            break;
        case Encoding::delta_byte_array:
            if (type.is_bytes()) return made(std::make_unique<DeltaTextDecoder>(bytes));
            break;
        case Encoding::byte_stream_split:
            if (type.size() > 0) return made(std::make_unique<SplitDecoder>(type, bytes));
            break;
        case Encoding::bit_packed:
            break;
    }
    return Error{"values in encoding " + std::to_string(encoding) +
                 ", which is not read for their type: write the column in another encoding, such as PLAIN"};
}

}  // namespace hpo::parquet
