// The parts of the reader of Parquet files, each by bytes that are written here by the format's documents.
#include <gmock/gmock.h>
#include <zlib.h>

#include <bit>

#include "worker/data/parquet/cells.hpp"
#include "worker/data/parquet/codecs.hpp"
#include "worker/data/parquet/decoders.hpp"
#include "worker/data/parquet/delta.hpp"
#include "worker/data/parquet/hybrid.hpp"
#include "worker/data/parquet/input.hpp"
#include "worker/data/parquet/schema.hpp"
#include "worker/data/parquet/thrift.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::parquet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

TEST(Thrift, FieldsHaveIdsByDistanceOrInFull) {
    // 1: i32 -3, 3: binary "ab", 20: true, 21: list of i64 (1, 2), end.
    const auto bytes = bytes_of({0x15, 5, 0x28, 2, 'a', 'b', 0x01, 40, 0x19, 0x26, 2, 4, 0});
    ThriftReader reader(bytes);
    std::vector<std::int64_t> seen;
    std::string_view text;
    reader.structure(ThriftType::structure, [&](std::int64_t id, ThriftType type) {
        seen.push_back(id);
        if (id == 1) seen.push_back(reader.integer(type));
        if (id == 3) text = reader.binary(type);
        if (id == 20) seen.push_back(reader.boolean(type) ? 1 : 0);
        if (id == 21) reader.list(type, [&](ThriftType its) { seen.push_back(reader.integer(its)); });
    });
    EXPECT_FALSE(reader.failed());
    EXPECT_EQ(text, "ab");
    EXPECT_THAT(seen, ElementsAre(1, -3, 3, 20, 1, 21, 1, 2));
    EXPECT_EQ(reader.position(), bytes.size());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        ThriftReader cut(std::span<const std::byte>(bytes).first(size));
        cut.structure(ThriftType::structure, [&](std::int64_t, ThriftType type) { cut.skip(type); });
        EXPECT_TRUE(cut.failed() && cut.truncated()) << size;
    }
}

TEST(Thrift, DeepOnesAndHugeListsAreRefused) {
    const std::vector<std::byte> deep(100, std::byte{0x1C});  // a structure in a structure
    ThriftReader reader(deep);
    reader.structure(ThriftType::structure, [&](std::int64_t, ThriftType type) { reader.skip(type); });
    EXPECT_TRUE(reader.failed());
    EXPECT_FALSE(reader.truncated());
    const auto list = bytes_of({0xF5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F});
    ThriftReader huge(list);
    huge.list(ThriftType::list, [](ThriftType) { FAIL(); });
    EXPECT_TRUE(huge.failed());
}

TEST(Hybrid, RunsAndPackedBitsFollowEachOther) {
    // Four times 5, then 0 to 7 in three bits each, as the format's document has them.
    const auto bytes = bytes_of({4 << 1, 5, 1 << 1 | 1, 0x88, 0xC6, 0xFA});
    HybridReader reader(bytes, 3);
    std::vector<std::uint32_t> numbers(12);
    ASSERT_TRUE(reader.read(std::span(numbers).first(5)));
    ASSERT_TRUE(reader.read(std::span(numbers).subspan(5)));
    EXPECT_THAT(numbers, ElementsAre(5, 5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_FALSE(reader.read(std::span(numbers).first(1)));
    // A last group that is cut short has the numbers that it has.
    HybridReader cut(std::span<const std::byte>(bytes).first(5), 3);
    EXPECT_TRUE(cut.read(std::span(numbers).first(9)));
    EXPECT_FALSE(cut.read(std::span(numbers).first(1)));
}

TEST(Delta, NumbersAreSumsOfDifferences) {
    // 7, 5, 3, 1, 2, 3, 4, 5: the format's second example, with a least difference of -2 and two bits for each.
    const auto bytes = bytes_of({0x80, 0x01, 4, 8, 14, 3, 2, 0, 0, 0, 0xC0, 0x3F, 0, 0, 0, 0, 0, 0, 42});
    DeltaReader reader(bytes);
    std::vector<std::uint64_t> numbers(8);
    EXPECT_EQ(reader.count(), 8U);
    ASSERT_TRUE(reader.read(std::span(numbers).first(3)));
    ASSERT_TRUE(reader.read(std::span(numbers).subspan(3)));
    EXPECT_THAT(numbers, ElementsAre(7, 5, 3, 1, 2, 3, 4, 5));
    EXPECT_FALSE(reader.read(std::span(numbers).first(1)));
    std::span<const std::byte> rest;
    ASSERT_TRUE(DeltaReader(bytes).pass_over(rest));
    EXPECT_THAT(rest, ElementsAre(std::byte{42}));
    for (std::size_t size = 0; size + 1 < bytes.size(); ++size)
        EXPECT_FALSE(DeltaReader(std::span(bytes).first(size)).pass_over(rest)) << size;
}

TEST(Codecs, ASizeThatTheBytesCannotHaveTakesNoMemory) {
    const auto few = bytes_of({1, 2, 3, 4, 5, 6, 7, 8});
    constexpr std::size_t claimed = std::size_t{1} << 29;
    for (const std::int64_t codec : {0, 1, 2, 6, 7}) {
        const auto page = decompress(codec, few, claimed);
        ASSERT_FALSE(page) << codec;
        EXPECT_THAT(page.error().message, HasSubstr("damaged")) << codec;
    }
    EXPECT_THAT(decompress(0, few, std::size_t{1} << 40).error().message, Mentions("at most 1 GiB"));
    EXPECT_THAT(decompress(4, few, 8).error().message, HasSubstr("BROTLI"));
    EXPECT_THAT(decompress(42, few, 8).error().message, Mentions("(42)"));
}

TEST(Codecs, GzipMayHaveSeveralMembers) {
    const auto member = [](const std::string& text) {
        z_stream stream{};
        std::string out(200, '\0');
        EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        stream.avail_in = static_cast<uInt>(text.size());
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = static_cast<uInt>(out.size());
        EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
        out.resize(stream.total_out);
        deflateEnd(&stream);
        return out;
    };
    const std::string both = member("one, ") + member("two");
    const auto page = decompress(2, std::as_bytes(std::span(both)), 8);
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(text_of(*page), "one, two");
    EXPECT_FALSE(decompress(2, std::as_bytes(std::span(both)), 9));
}

TEST(Decoders, EndsOfPagesAndForeignEncodingsAreErrors) {
    const auto bytes = bytes_of({1, 0, 0, 0, 2, 0, 0, 0, 3});
    Values values;
    const PhysicalType number{Physical::int32}, text{Physical::bytes}, flag{Physical::boolean};
    for (const auto type : {number, text}) EXPECT_FALSE((*make_decoder(type, 0, bytes, nullptr))->read(3, values));
    EXPECT_FALSE((*make_decoder(flag, 0, bytes, nullptr))->read(73, values));
    EXPECT_THAT(make_decoder(number, 8, bytes, nullptr).error().message, HasSubstr("dictionary"));
    EXPECT_THAT(make_decoder(number, 7, bytes, nullptr).error().message, Mentions("encoding 7"));
    EXPECT_THAT(make_decoder(number, 4, bytes, nullptr).error().message, Mentions("encoding 4"));
    Values dictionary;
    dictionary.bits = {10, 20};
    const auto indices = bytes_of({2, 2 << 1, 1, 2 << 1, 2});  // two bits each: twice 1, twice 2
    const auto decoder = make_decoder(number, 8, indices, &dictionary);
    values.clear();
    ASSERT_TRUE((*decoder)->read(2, values));
    EXPECT_THAT(values.bits, ElementsAre(20, 20));
    EXPECT_THAT((*decoder)->read(1, values).error().message, HasSubstr("dictionary"));
}

TEST(Decoders, ValuesThatAreLeftAreToldFromThoseThatFillUpAGroup) {
    const PhysicalType number{Physical::int32}, text{Physical::bytes}, flag{Physical::boolean};
    Values dictionary;
    dictionary.bits = {10, 20};
    struct Page {
        PhysicalType type;
        std::int64_t encoding;
        std::vector<std::byte> bytes;
        std::size_t values;
    };
    const std::vector<Page> pages{
        {number, 0, bytes_of({1, 0, 0, 0, 2, 0, 0, 0}), 2},
        {text, 0, bytes_of({1, 0, 0, 0, 'a', 0, 0, 0, 0}), 2},
        {flag, 0, bytes_of({0xFF, 0x01}), 9},
        {flag, 3, bytes_of({3, 0, 0, 0, 2 << 1 | 1, 0xFF, 0x01}), 9},
        {flag, 3, bytes_of({4, 0, 0, 0, 3 << 1 | 1, 0xFF, 0x01, 0}), 9},  // as DuckDB does
        {number, 8, bytes_of({1, 1 << 1 | 1, 0, 1 << 1, 1}), 9},
        {number, 5, bytes_of({0x80, 0x01, 4, 2, 14, 3, 0, 0, 0, 0}), 2},
        {text, 6, bytes_of({0x80, 0x01, 4, 2, 2, 0, 0, 0, 0, 0, 'a', 'b'}), 2},
        {text, 7, bytes_of({0x80, 0x01, 4, 2, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 4, 2, 2, 0, 0, 0, 0, 0, 'a', 'b'}), 2},
        {number, 9, bytes_of({1, 2, 0, 0, 0, 0, 0, 0}), 2}};
    for (const Page& page : pages) {
        Values values;
        const auto decoder = make_decoder(page.type, page.encoding, page.bytes, &dictionary);
        ASSERT_TRUE(decoder) << page.encoding;
        EXPECT_FALSE((*decoder)->at_end()) << page.encoding;
        ASSERT_TRUE((*decoder)->read(page.values - 1, values)) << page.encoding;
        EXPECT_FALSE((*decoder)->at_end()) << page.encoding;
        ASSERT_TRUE((*decoder)->read(1, values)) << page.encoding;
        EXPECT_TRUE((*decoder)->at_end()) << page.encoding;
    }
    // Three indices of a group of eight, whose others may have any value.
    const auto indices = bytes_of({1, 1 << 1 | 1, 0xFF});
    Values values;
    const auto decoder = make_decoder(number, 8, indices, &dictionary);
    ASSERT_TRUE((*decoder)->read(3, values));
    EXPECT_TRUE((*decoder)->at_end());
}

/// The one cell of a number in a column.
Cell cell_of(const Column& column, std::uint64_t bits, Cells& cells) {
    Values values;
    values.bits = {bits};
    EXPECT_TRUE(cells.assign(column, Wanted::text, {true}, values));
    return cells.cells().front();
}

TEST(Cells, ANumberIsTheOneOfItsShortestText) {
    Cells cells;
    Column column{.name = "x", .physical = {Physical::float32}, .meaning = Meaning::number};
    EXPECT_EQ(cell_of(column, std::bit_cast<std::uint32_t>(0.1F), cells).number, 0.1);
    EXPECT_EQ(cell_of(column, std::bit_cast<std::uint32_t>(3.0F), cells).text, "3");
    EXPECT_TRUE(cell_of(column, std::bit_cast<std::uint32_t>(NAN), cells).missing);
    EXPECT_EQ(cell_of(column, std::bit_cast<std::uint32_t>(HUGE_VALF), cells).number, HUGE_VAL);
    column.physical = {Physical::float64};
    EXPECT_EQ(cell_of(column, std::bit_cast<std::uint64_t>(100000.0), cells).text, "100000");
    EXPECT_EQ(cell_of(column, std::bit_cast<std::uint64_t>(1e22), cells).text, "1e+22");
    column = {.name = "x", .physical = {Physical::int32}, .meaning = Meaning::unsigned_integer};
    EXPECT_EQ(cell_of(column, ~std::uint64_t{0}, cells).number, 4294967295.0);
    column = {.name = "x", .physical = {Physical::int64}, .meaning = Meaning::unsigned_integer};
    EXPECT_EQ(cell_of(column, ~std::uint64_t{0}, cells).text, "18446744073709551615");
    column = {.name = "x", .physical = {Physical::int32}, .meaning = Meaning::decimal, .scale = 3};
    EXPECT_EQ(cell_of(column, static_cast<std::uint64_t>(std::int64_t{-50}), cells).text, "-0.050");
    EXPECT_EQ(cells.cells().front().number, -0.05);
    column = {.name = "x", .physical = {Physical::int32}, .meaning = Meaning::date};
    EXPECT_EQ(cell_of(column, 19753, cells).text, "2024-01-31");
    EXPECT_FALSE(cells.cells().front().number);
}

TEST(Cells, DecimalsInBytesAndNumbersOf16Bits) {
    Cells cells;
    Values values;
    const Column wide{.name = "x", .physical = {Physical::fixed, 16}, .meaning = Meaning::decimal, .scale = 2};
    const std::string least("\x80" + std::string(15, '\0')), minus_one(16, '\xFF');
    values.bytes = {least, minus_one};
    ASSERT_TRUE(cells.assign(wide, Wanted::text, {true, false, true}, values));
    EXPECT_EQ(cells.cells()[0].text, "-1701411834604692317316873037158841057.28");
    EXPECT_EQ(cells.cells()[1].text, "null");
    EXPECT_TRUE(cells.cells()[1].missing);
    EXPECT_EQ(cells.cells()[2].number, -0.01);
    const Column half{.name = "x", .physical = {Physical::fixed, 2}, .meaning = Meaning::half};
    values.bytes = {std::string_view("\x00\x3C", 2), std::string_view("\x01\x00", 2), std::string_view("\x00\xFC", 2),
                    std::string_view("\x01\x7C", 2)};
    ASSERT_TRUE(cells.assign(half, Wanted::number, {true, true, true, true}, values));
    EXPECT_EQ(cells.cells()[0].number, 1.0);
    EXPECT_EQ(cells.cells()[1].number, 0x1p-24);
    EXPECT_EQ(cells.cells()[2].number, -HUGE_VAL);
    EXPECT_EQ(cells.cells()[2].text, "-inf");
    EXPECT_TRUE(cells.cells()[3].missing);
    values.bytes = {std::string_view("\x00", 1)};
    EXPECT_THAT(cells.assign(half, Wanted::number, {true}, values).error().message, HasSubstr("length"));
}

TEST(Schema, NestedAndOldColumnsAreUnreadable) {
    const std::vector<SchemaElement> schema{{.name = "root", .children = 4},
                                            {.name = "a", .type = Physical::int96},
                                            {.name = "b", .children = 2},
                                            {.name = "c", .type = Physical::int32},
                                            {.name = "d", .type = Physical::int32},
                                            {.name = "e", .type = Physical::int32, .repetition = 2},
                                            {.name = "f", .type = Physical::float64, .repetition = 1}};
    const auto columns = columns_of(schema);
    ASSERT_TRUE(columns) << columns.error().message;
    ASSERT_EQ(columns->size(), 4U);
    EXPECT_EQ((*columns)[0].unreadable, "holds times of 96 bits (INT96)");
    EXPECT_EQ((*columns)[1].unreadable, "is nested");
    EXPECT_EQ((*columns)[2].unreadable, "holds lists");
    EXPECT_EQ((*columns)[3].unreadable, "");
    EXPECT_EQ((*columns)[3].leaf, 4U);
    EXPECT_TRUE((*columns)[3].optional);
    for (const std::int64_t children : {3, 5, 1'000'000}) {
        auto damaged = schema;
        damaged[0].children = children;
        EXPECT_FALSE(columns_of(damaged)) << children;
    }
}

}  // namespace
}  // namespace hpo::parquet
