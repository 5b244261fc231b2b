#include "worker/data/npy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "hpo/printable.hpp"

namespace hpo {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::int64_t most_npy_bytes = std::int64_t{1} << 46;  // the most bytes that a header may claim
constexpr std::size_t most_dimensions = 8;

struct NpyTypeRow {
    std::string_view descr;  ///< without the sign of the byte order
    NpyType type;
    const char* name;
    std::int64_t bytes;
};
constexpr std::array npy_types{
    NpyTypeRow{"b1", NpyType::boolean, "bool", 1}, NpyTypeRow{"u1", NpyType::u8, "uint8", 1},
    NpyTypeRow{"u2", NpyType::u16, "uint16", 2},   NpyTypeRow{"u4", NpyType::u32, "uint32", 4},
    NpyTypeRow{"u8", NpyType::u64, "uint64", 8},   NpyTypeRow{"i1", NpyType::i8, "int8", 1},
    NpyTypeRow{"i2", NpyType::i16, "int16", 2},    NpyTypeRow{"i4", NpyType::i32, "int32", 4},
    NpyTypeRow{"i8", NpyType::i64, "int64", 8},    NpyTypeRow{"f4", NpyType::f32, "float32", 4},
    NpyTypeRow{"f8", NpyType::f64, "float64", 8},
};

const NpyTypeRow& row_of(NpyType type) { return npy_types[static_cast<std::size_t>(type)]; }

Error npy_error(std::size_t offset, const std::string& what) {
    return {"byte " + std::to_string(offset) + ": " + what};
}

/// Reads the dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: these three keys, in any order.
class NpyDictionary {
   public:
    NpyDictionary(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

    Result<NpyHeader> read() {
        if (auto opened = expect('{'); !opened) return opened.error();
        while (!take('}')) {
            const auto key = string();
            if (!key) return key.error();
            if (auto colon = expect(':'); !colon) return colon.error();
            auto value = *key == "descr"           ? descr()
                         : *key == "fortran_order" ? order()
                         : *key == "shape"         ? shape()
                                                   : Result<void>(error("an unknown key, '" + printable(*key) + "'"));
            if (!value) return value.error();
            if (!take(',') && !seen('}')) return error("expected , or }");
        }
        if (at_ < text_.size()) return error("text behind the dictionary");
        if (!has_descr_ || !has_order_ || !has_shape_)
            return npy_error(offset_, "the header lacks descr, fortran_order or shape");
        return header_;
    }

   private:
    [[nodiscard]] Error error(const std::string& what) const { return npy_error(offset_ + at_, what); }
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    }
    bool seen(char c) {
        skip_blanks();
        return at_ < text_.size() && text_[at_] == c;
    }
    bool take(char c) {
        if (!seen(c)) return false;
        ++at_;
        skip_blanks();
        return true;
    }
    Result<void> expect(char c) {
        if (!take(c)) return error(std::string("expected ") + c);
        return {};
    }

    Result<std::string> string() {
        skip_blanks();
        if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return error("expected a text in quotes");
        const std::size_t end = text_.find(text_[at_], at_ + 1);
        if (end == std::string_view::npos) return error("a quote that is not closed");
        std::string found(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        return found;
    }

    Result<void> descr() {
        if (seen('[')) return error("an array of records: save its columns one by one");
        const std::size_t from = at_;
        const auto text = string();
        if (!text) return text.error();
        has_descr_ = true;
        const std::string shown = "'" + printable(text->substr(0, 20)) + "'";
        const auto refused = [&](const std::string& what) { return npy_error(offset_ + from, what); };
        if (text->size() < 2) return refused("the type " + shown + " cannot be read");
        if (text->front() == '>' && text->substr(2) != "1")
            return refused("big-endian numbers (" + shown + "): save the array after .astype('<" + text->substr(1, 4) +
                           "')");
        const auto found = std::find_if(npy_types.begin(), npy_types.end(), [&](const auto& row) {
            return row.descr == std::string_view(*text).substr(1);
        });
        if (const char kind = (*text)[1]; kind == 'U' || kind == 'S')
            return refused("texts (" + shown +
                           "): save numbers in their place, numpy.unique(array, return_inverse=True)[1]");
        if (found == npy_types.end() || std::string_view("<|=>").find(text->front()) == std::string_view::npos)
            return refused("the type " + shown +
                           ": bool, integers of 8 to 64 bits, float32 and float64 can be read; save the array after "
                           ".astype('<f4')");
        header_.type = found->type;
        return {};
    }

    Result<void> order() {
        skip_blanks();
        for (const auto& [word, is_fortran] : {std::pair("False", false), std::pair("True", true)}) {
            if (!text_.substr(at_).starts_with(word)) continue;
            if (is_fortran) return error("the array is in Fortran order: save numpy.ascontiguousarray(array)");
            at_ += std::strlen(word);
            has_order_ = true;
            return {};
        }
        return error("expected True or False");
    }

    Result<void> shape() {
        if (auto opened = expect('('); !opened) return opened.error();
        header_.shape.clear();
        std::int64_t total = 8;  // bytes, at most
        while (!take(')')) {
            const auto length = whole();
            if (!length) return length.error();
            if (header_.shape.size() == most_dimensions)
                return error("more than " + std::to_string(most_dimensions) + " dimensions");
            if (*length == 0) return error("the array is empty: a dimension is 0");
            if (*length > most_npy_bytes / total) return error("the array's size cannot be right");
            total *= *length;
            header_.shape.push_back(*length);
            if (!take(',') && !seen(')')) return error("expected , or )");
        }
        if (header_.shape.empty()) return error("a single number and no array");
        has_shape_ = true;
        return {};
    }

    Result<std::int64_t> whole() {
        skip_blanks();
        std::int64_t number = 0;
        const std::size_t from = at_;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            number = number * 10 + (text_[at_] - '0');
            if (number > most_npy_bytes) return error("the array's size cannot be right");
        }
        if (at_ == from) return error("expected a whole number");
        return number;
    }

    std::string_view text_;
    std::size_t offset_, at_ = 0;
    NpyHeader header_;
    bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

/// Little-endian.
std::size_t small_number(std::span<const std::byte> bytes) {
    std::size_t number = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) number = number << 8 | std::to_integer<std::size_t>(bytes[i - 1]);
    return number;
}

template <class T>
double number_at(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
}

}  // namespace

std::int64_t bytes_of(NpyType type) { return row_of(type).bytes; }
const char* npy_name(NpyType type) { return row_of(type).name; }

double npy_number(NpyType type, const std::byte* bytes) {
    switch (type) {
        case NpyType::boolean:
            return *bytes == std::byte{0} ? 0 : 1;
        case NpyType::u8:
            return number_at<std::uint8_t>(bytes);
        case NpyType::u16:
            return number_at<std::uint16_t>(bytes);
        case NpyType::u32:
            return number_at<std::uint32_t>(bytes);
        case NpyType::u64:
            return number_at<std::uint64_t>(bytes);
        case NpyType::i8:
            return number_at<std::int8_t>(bytes);
        case NpyType::i16:
            return number_at<std::int16_t>(bytes);
        case NpyType::i32:
            return number_at<std::int32_t>(bytes);
        case NpyType::i64:
            return number_at<std::int64_t>(bytes);
        case NpyType::f32:
            return number_at<float>(bytes);
        default:
            return number_at<double>(bytes);
    }
}

std::int64_t NpyHeader::row_numbers() const {
    std::int64_t numbers = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) numbers *= shape[i];
    return numbers;
}

Result<std::size_t> npy_header_bytes(std::span<const std::byte> preamble) {
    if (preamble.size() < npy_preamble) return npy_error(preamble.size(), "truncated: the file ends before its header");
    if (std::memcmp(preamble.data(), npy_magic.data(), npy_magic.size()) != 0)
        return npy_error(0, "not an NPY file (wrong magic number)");
    const auto version = std::to_integer<int>(preamble[6]);
    if (version < 1 || version > 3) return npy_error(6, "version " + std::to_string(version) + " of NPY is not known");
    const std::size_t begin = version == 1 ? 10 : 12;
    const std::size_t length = small_number(preamble.subspan(8, begin - 8));
    if (length > most_npy_header)
        return npy_error(8, "a header of " + std::to_string(length) + " bytes cannot be right");
    return std::max(begin + length, npy_preamble);
}

Result<NpyHeader> parse_npy(std::span<const std::byte> beginning) {
    const auto needed = npy_header_bytes(beginning.first(std::min(beginning.size(), npy_preamble)));
    if (!needed) return needed.error();
    if (beginning.size() < *needed) return npy_error(beginning.size(), "truncated: the file ends within its header");
    const std::size_t begin = std::to_integer<int>(beginning[6]) == 1 ? 10 : 12;
    const std::size_t end = begin + small_number(beginning.subspan(8, begin - 8));
    const std::string_view text(reinterpret_cast<const char*>(beginning.data()) + begin, end - begin);
    auto header = NpyDictionary(text, begin).read();
    if (header) header->data_offset = static_cast<std::int64_t>(end);
    return header;
}

std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace hpo
