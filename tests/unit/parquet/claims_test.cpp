// Files whose numbers claim what their bytes do not have. They are written here, field by field.
#include <gmock/gmock.h>

#include <cstring>

#include "worker/data/parquet/file.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::parquet {
namespace {

using ::testing::HasSubstr;

std::string varint_of(std::uint64_t number) {
    std::string text;
    for (; number >= 0x80; number >>= 7) text += static_cast<char>(0x80 | (number & 0x7F));
    return text + static_cast<char>(number);
}

/// A structure of Thrift's compact protocol; ids must grow.
class Fields {
   public:
    Fields& number(int id, std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(value);
        return add(id, 6, varint_of(value < 0 ? ~(bits << 1) : bits << 1));
    }
    Fields& text(int id, const std::string& value) { return add(id, 8, varint_of(value.size()) + value); }
    Fields& part(int id, const Fields& value) { return add(id, 12, value.bytes()); }
    Fields& parts(int id, const std::vector<Fields>& values) {
        std::string text(1, static_cast<char>(values.size() << 4 | 12));
        for (const Fields& one : values) text += one.bytes();
        return add(id, 9, text);
    }
    [[nodiscard]] std::string bytes() const { return bytes_ + '\0'; }

   private:
    Fields& add(int id, int type, const std::string& value) {
        bytes_ += static_cast<char>((id - last_) << 4 | type);
        last_ = id;
        bytes_ += value;
        return *this;
    }
    std::string bytes_;
    int last_ = 0;
};

/// The claims of a file with one column of int32, which has three values in one page.
struct Claims {
    std::int64_t rows = 3, chunk_values = 3, page_values = 3, bytes = 12, compressed_bytes = 12;
    std::int64_t type = 1, codec = 0, offset = 4, repetition = 0, encoding = 0, level_encoding = 3, page_kind = 0;
    std::string levels{};
};

std::string claiming(const Claims& claims) {
    Fields header;
    const auto level_bytes = static_cast<std::int64_t>(claims.levels.size());
    header.number(1, claims.page_kind)
        .number(2, claims.bytes + level_bytes)
        .number(3, claims.compressed_bytes + level_bytes);
    const Fields page = Fields().number(1, claims.page_values).number(2, claims.encoding);
    if (claims.page_kind == 0)
        header.part(5, Fields(page).number(3, claims.level_encoding));
    else
        header.part(7, page);
    const std::string numbers("\1\0\0\0\2\0\0\0\3\0\0\0", 12);
    const Fields column =
        Fields().number(1, claims.type).number(4, claims.codec).number(5, claims.chunk_values).number(9, claims.offset);
    const Fields root = Fields().text(4, "root").number(5, 1);
    const Fields leaf = Fields().number(1, 1).number(3, claims.repetition).text(4, "x");
    const Fields group = Fields().parts(1, {Fields().part(3, column)}).number(3, claims.rows);
    const std::string footer = Fields().parts(2, {root, leaf}).number(3, claims.rows).parts(4, {group}).bytes();
    std::string size(4, '\0');
    for (std::size_t i = 0; i < 4; ++i) size[i] = static_cast<char>(footer.size() >> (8 * i));
    return "PAR1" + header.bytes() + claims.levels + numbers + footer + size + "PAR1";
}

/// The numbers of the file, or the error.
std::string numbers_in(const std::string& bytes) {
    auto file = File::open({static_cast<std::int64_t>(bytes.size()), [&](std::int64_t offset, std::span<std::byte> to) {
                                std::memcpy(to.data(), bytes.data() + offset, to.size());
                                return Result<void>();
                            }});
    if (!file) return file.error().message;
    std::string text;
    const std::vector<Wanted> wanted{Wanted::text};
    const auto read = file->each_row(wanted, [&](std::int64_t, std::span<const Cell> cells) -> Result<void> {
        text += std::string(cells[0].text) + " ";
        return {};
    });
    return read ? text : read.error().message;
}

TEST(Claims, WhatIsTrueIsRead) { EXPECT_EQ(numbers_in(claiming({})), "1 2 3 "); }

TEST(Claims, WhatIsNotIsAnErrorBeforeItTakesMemory) {
    const std::string column = "row group 1, column 1 (x): ";
    constexpr std::int64_t huge = std::int64_t{1} << 38;
    EXPECT_THAT(numbers_in(claiming({.rows = huge, .chunk_values = huge})),
                Mentions(column + "damaged: ", "pages", "274877906941 rows", "before"));
    EXPECT_THAT(numbers_in(claiming({.rows = huge, .chunk_values = huge, .page_values = huge})),
                MentionsInOrder(column + "damaged: ", "page", "before", "values"));
    EXPECT_THAT(numbers_in(claiming({.rows = huge * 8})), Mentions("2199023255552"));
    EXPECT_THAT(numbers_in(claiming({.rows = -1})), Mentions("damaged:", "-1 rows"));
    EXPECT_THAT(numbers_in(claiming({.chunk_values = 4})), MentionsInOrder(column + "damaged: ", "4 values", "3 rows"));
    EXPECT_THAT(numbers_in(claiming({.page_values = 4})),
                MentionsInOrder(column + "damaged: ", "more", "values", "rows"));
    EXPECT_THAT(numbers_in(claiming({.bytes = 1 << 29, .codec = 6})),
                MentionsInOrder(column, "536870912 bytes", "3 values", "damaged", "too long"));
    EXPECT_THAT(numbers_in(claiming({.bytes = 13})), Mentions(column + "damaged: ", "page", "two", "sizes"));
    EXPECT_EQ(numbers_in(claiming({.bytes = -1})), column + "damaged: a page has a negative size");
    EXPECT_THAT(numbers_in(claiming({.compressed_bytes = 4000})),
                MentionsInOrder(column + "damaged: ", "page", "longer", "file"));
    EXPECT_THAT(numbers_in(claiming({.type = 2})), MentionsInOrder(column + "damaged: ", "type", "differs", "schema"));
    EXPECT_THAT(numbers_in(claiming({.offset = 4000})), Mentions(column + "damaged: ", "pages", "outside"));
    EXPECT_THAT(numbers_in(claiming({.offset = -4})), Mentions(column + "damaged: ", "pages", "outside"));
    EXPECT_THAT(numbers_in(claiming({.page_values = 1 << 25, .bytes = 1 << 27, .page_kind = 2})),
                MentionsInOrder(column, "dictionary", "33554432 values", "16777216", "without"));
    EXPECT_THAT(numbers_in(claiming({.encoding = 8})), Mentions(column + "damaged: ", "no dictionary"));
    EXPECT_THAT(numbers_in(claiming({.repetition = 1})), HasSubstr(column + "damaged"));
    EXPECT_THAT(numbers_in(claiming({.repetition = 1, .level_encoding = 4})), Mentions("levels", "encoding 4"));
}

TEST(Claims, LevelsAndHeadersMustAccountForAllValuesOfAPage) {
    const auto levels = [](char bits) { return std::string("\2\0\0\0\3", 5) + bits; };  // a group of packed bits
    EXPECT_EQ(numbers_in(claiming({.repetition = 1, .levels = levels(0b111)})), "1 2 3 ");
    const std::string left = "row group 1, column 1 (x): damaged: a page has more values than its levels or its header";
    EXPECT_THAT(numbers_in(claiming({.repetition = 1, .levels = levels(0b101)})), HasSubstr(left));
    EXPECT_THAT(numbers_in(claiming({.repetition = 1, .levels = levels(0)})), HasSubstr(left));
    EXPECT_THAT(numbers_in(claiming({.rows = 2, .chunk_values = 2, .page_values = 2})), HasSubstr(left));
}

}  // namespace
}  // namespace hpo::parquet
