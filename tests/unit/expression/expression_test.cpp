#include "orchestrator/expression/expression.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/mentions.hpp"

namespace hpo::expression {
namespace {

using ::testing::HasSubstr;

/// The parameters of the tests: numbers, a flag, texts, numbers beside a text, lists, names with signs and dots.
const std::vector<Variable>& variables() {
    static const std::vector<Variable> all{{"layers", 1, 8, {}},
                                           {"width", 16, 512, {}},
                                           {"lr", 1e-5, 0.1, {}},
                                           {"optimizer", 0, 0, {std::string("adam"), std::string("sgd")}},
                                           {"momentum", 0, 0.99, {}},
                                           {"bias", 0, 0, {true, false}},
                                           {"size", 0, 0, {std::int64_t{64}, std::int64_t{128}, std::string("auto")}},
                                           {"hidden", 0, 0, {std::vector<std::int64_t>{64, 32}, JsonText{"null"}}},
                                           {"weight-decay", 0, 1, {}},
                                           {"model.dim", 1, 64, {}},
                                           {"weight", -2, 3, {}},
                                           {"decay", 0, 1, {}}};
    return all;
}

const Params& configuration() {
    static const Params params{{"layers", std::int64_t{4}},
                               {"width", std::int64_t{64}},
                               {"lr", 0.01},
                               {"optimizer", std::string("adam")},
                               {"bias", true},
                               {"size", std::string("auto")},
                               {"hidden", std::vector<std::int64_t>{64, 32}},
                               {"weight-decay", 0.25},
                               {"model.dim", std::int64_t{8}},
                               {"weight", 2.0},
                               {"decay", 0.5}};
    return params;
}

std::vector<const Value*> values(const Params& params = configuration()) {
    std::vector<const Value*> made;
    for (const Variable& variable : variables()) {
        const auto found = params.find(variable.name);
        made.push_back(found == params.end() ? nullptr : &found->second);
    }
    return made;
}

/// Returns the mistake in a text as "offset+length: message", or "(none)".
std::string mistake(const std::string& text, Meaning meaning = Meaning::condition) {
    const auto read = Expression::read(text, meaning, variables());
    const auto* wrong = std::get_if<Mistake>(&read);
    return wrong ? std::to_string(wrong->offset) + "+" + std::to_string(wrong->length) + ": " + wrong->message
                 : "(none)";
}

Truth truth(const std::string& text) {
    EXPECT_EQ(mistake(text), "(none)") << text;
    return std::get<Expression>(Expression::read(text, Meaning::condition, variables())).holds(values());
}

double number(const std::string& text) {
    EXPECT_EQ(mistake(text, Meaning::number), "(none)") << text;
    const auto made = std::get<Expression>(Expression::read(text, Meaning::number, variables()));
    return made.number(values()).value_or(NAN);
}

TEST(Expression, ComputesAsPythonDoes) {
    for (const auto& [text, expected] : std::vector<std::pair<std::string, double>>{
             {"layers * width", 256},
             {"2 + 3 * 4 - 1", 13},
             {"(2 + 3) * 4", 20},
             {"-2 ** 2", -4},
             {"(-2) ** 2", 4},
             {"2 ** 3 ** 2", 512},
             {"2 ** -1", 0.5},
             {"7 // 2", 3},
             {"-7 // 2", -4},
             {"7 % 3", 1},
             {"-7 % 3", 2},
             {"10 - 4 - 3", 3},
             {"64 / 4 / 2", 8},
             {"- - 3", 3},
             {"+3", 3},
             {"1e-3 * 1_000", 1},
             {".5 + 1. + 1E+2", 101.5},
             {"min(layers, width, 3) + max(1, 2)", 5},
             {"abs(-3) + sqrt(16) + log2(8) + log10(100)", 12},
             {"exp(log(5))", 5},
             {"floor(2.7) + ceil(2.1) + round(2.5)", 7},
             {"bias * 10", 10},
             {"model.dim*2", 16},
             {"weight-decay", 0.25},   // the longest name
             {"weight - decay", 1.5},  // a subtraction
             {"layers-1", 3},
         })
        EXPECT_NEAR(number(text), expected, 1e-12) << text;
}

TEST(Expression, Compares) {
    for (const char* text : {"layers * width <= 4096",
                             "1 < layers <= 4 < width",
                             "layers == 4.0",
                             "layers != 5",
                             "optimizer == 'adam'",
                             "\"sgd\" != optimizer",
                             "optimizer in ['sgd', 'adam']",
                             "layers in (2, 4)",
                             "layers not in [1, width]",
                             "not layers > 4",
                             "not (layers > 4 or width < 10)",
                             "bias",
                             "not not bias",
                             "bias == True",
                             "bias and layers > 1",
                             "0.1 + 0.2 <= 0.3",
                             "0.1 + 0.2 == 0.3",
                             "not 0.1 + 0.2 > 0.3",
                             "size == 'auto'",
                             "size == 'auto' or size <= 100",
                             "hidden != null",
                             "lr < 1 and (width >= 64)",
                             "width % 16 == 0",
                             "true",
                             "layers+1>4"})
        EXPECT_EQ(truth(text), Truth::yes) << text;
    for (const char* text : {"layers * width > 4096", "1 < layers < 4", "optimizer == 'sgd'", "not bias",
                             "layers in [1, 2]", "hidden == None", "false or layers > 4"})
        EXPECT_EQ(truth(text), Truth::no) << text;
}

TEST(Expression, AParameterThatDoesNotExistLeavesOpenWhatDependsOnIt) {
    EXPECT_EQ(truth("momentum > 0.5"), Truth::absent);
    EXPECT_EQ(truth("momentum ** 2 + layers > 0.5"), Truth::absent);
    EXPECT_EQ(truth("not momentum > 0.5"), Truth::absent);
    EXPECT_EQ(truth("momentum in [0, 1]"), Truth::absent);
    EXPECT_EQ(truth("momentum > 0.5 and layers > 7"), Truth::no);
    EXPECT_EQ(truth("momentum > 0.5 and layers < 7"), Truth::absent);
    EXPECT_EQ(truth("momentum > 0.5 or layers < 7"), Truth::yes);
    EXPECT_EQ(truth("optimizer != 'sgd' or momentum > 0.5"), Truth::yes);
}

TEST(Expression, WhatHasNoValueIsUndefinedUnlessTheOtherSideDecides) {
    EXPECT_EQ(truth("1 / (layers - 4) > 0"), Truth::undefined);
    EXPECT_EQ(truth("log(layers - 4) < 0"), Truth::undefined);
    EXPECT_EQ(truth("sqrt(3 - layers) < 9"), Truth::undefined);
    EXPECT_EQ(truth("10 ** width ** width > 1"), Truth::undefined) << "too large for a number";
    EXPECT_EQ(truth("not 1 % (layers - 4) == 0"), Truth::undefined);
    EXPECT_EQ(truth("layers == 4 or 1 / (layers - 4) > 0"), Truth::yes);
    EXPECT_EQ(truth("layers != 4 and 1 / (layers - 4) > 0"), Truth::no);
    EXPECT_EQ(truth("size <= 100"), Truth::undefined) << "it is a text here, and has numbers among its choices";
}

TEST(Expression, NamesThePlaceOfAMistakeAndTheCure) {
    for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
             {"layer * width <= 4096", "0+5: unknown parameter 'layer'; did you mean 'layers'?"},
             {"layers * q <= 4096", "9+1: unknown parameter 'q'; known: layers, width, lr, optimizer"},
             {"layers * width", "0+14: 'layers * width' is not a condition"},
             {"layers <= ", "9+1: the text ends too early"},
             {"", "0+1: the text ends too early"},
             {"(layers < 2", "0+1: this parenthesis is not closed"},
             {"layers < 2)", "10+1: not expected here: ')'"},
             {"layers = 2", "7+1: '=' is written '=='"},
             {"layers < 2 && width < 3", "11+2: '&&' is written 'and'"},
             {"layers ^ 2 < 3", "7+1: '^' is written '**'"},
             {"layers \u2264 3", "7+3: '\u2264' is written '<='"},
             {"!bias", "0+1: '!' is written 'not'"},
             {"optimizer == sgd", "13+3: 'sgd' is no parameter: write a text in quotes, 'sgd'"},
             {"optimizer == 'sgdd'", "13+6: 'optimizer' is never 'sgdd'; did you mean 'sgd'?"},
             {"optimizer in ['adam', 'rmsprop']", "22+9: 'optimizer' is never"},
             {"optimizer < 2", "0+9: 'optimizer' is not a number"},
             {"optimizer == 2", "13+1: 'optimizer' is never '2': one is a text, the other a number"},
             {"layers == 'a'", "10+3: 'layers' is never"},
             {"layers and bias", "0+6: 'layers' is not a condition"},
             {"not layers", "4+6: 'layers' is not a condition"},
             {"hidden + 1 > 2", "0+6: 'hidden' is not a number"},
             {"mim(layers, 2) < 3", "0+3: unknown function 'mim'; did you mean 'min'?"},
             {"min(layers) < 3", "0+3: 'min' needs two numbers or more"},
             {"sqrt(1, 2) < 3", "0+4: 'sqrt' needs one number"},
             {"layers in 3", "10+1: 'in' needs a list, such as in [1, 2]"},
             {"layers in []", "11+1: not expected here: ']'"},
             {"layers < 1e", "9+2: not a number: '1e'"},
             {"layers < 1e999", "9+5: not a number"},
             {"layers < 3x", "9+2: not a number: '3x'"},
             {"optimizer == 'sgd", "13+1: this quote is not closed"},
             {"layers < and", "9+3: not expected here: 'and'"},
             {"layers ? 3", "7+1: not expected here: '?'"},
             {"layers < 2 width", "11+5: not expected here: 'width'"},
             {"__import__('os')", "0+10: unknown function '__import__'"},
         })
        EXPECT_THAT(mistake(text), ::testing::StartsWith(expected)) << text;
    EXPECT_THAT(mistake("optimizer", Meaning::number), HasSubstr("'optimizer' is not a number"));
}

TEST(Expression, IsBounded) {
    EXPECT_THAT(mistake(std::string(1001, ' ')), Mentions("1000"));
    for (const char* part : {"(", "-", "not ", "min(", "2 ** ", "+"}) {
        std::string deep;
        for (int i = 0; i < 100; ++i) deep += part;
        EXPECT_THAT(mistake(deep + "1"), Mentions("32")) << part;
    }
    std::string long_sum = "0 < 1";
    for (int i = 0; i < 240; ++i) long_sum += " +1";
    EXPECT_EQ(truth(long_sum), Truth::yes) << "length is no depth";
}

TEST(Expression, BoundsHoldForEveryConfiguration) {
    const std::vector<std::string> texts{"layers + width",
                                         "layers - width",
                                         "weight * weight",
                                         "weight * layers",
                                         "width / layers",
                                         "width // layers",
                                         "width % layers",
                                         "weight ** 2",
                                         "weight ** 3",
                                         "layers ** weight",
                                         "min(weight, 1, layers)",
                                         "max(weight, lr)",
                                         "abs(weight)",
                                         "-weight",
                                         "sqrt(width)",
                                         "log(lr)",
                                         "log2(width)",
                                         "log10(lr)",
                                         "exp(weight)",
                                         "floor(weight)",
                                         "ceil(weight)",
                                         "round(weight)",
                                         "2 * lr",
                                         "weight-decay * model.dim",
                                         "bias * 3",
                                         "lr"};
    for (const std::string& text : texts) {
        const auto made = std::get<Expression>(Expression::read(text, Meaning::number, variables()));
        const auto bounds = made.bounds(variables());
        ASSERT_TRUE(bounds) << text;
        for (int i = 0; i <= 1000; ++i) {
            Params params;
            std::uint64_t digits = static_cast<std::uint64_t>(i) * 2654435761u;
            for (const Variable& variable : variables()) {
                digits = digits * 6364136223846793005u + 1442695040888963407u;
                const double share = i == 0 ? 0 : i == 1 ? 1 : static_cast<double>(digits >> 11) * 0x1p-53;
                params[variable.name] = variable.choices.empty()
                                            ? Value(variable.low + share * (variable.high - variable.low))
                                            : variable.choices[0];
            }
            const double value = made.number(values(params)).value();
            EXPECT_GE(value, bounds->low - 1e-12 * std::abs(bounds->low)) << text;
            EXPECT_LE(value, bounds->high + 1e-12 * std::abs(bounds->high)) << text;
        }
    }
    for (const char* text : {"1 / weight", "width // weight", "sqrt(weight)", "log(decay)", "weight ** 0.5",
                             "weight ** -1", "width % weight", "exp(width) ** 9"})
        EXPECT_FALSE(std::get<Expression>(Expression::read(text, Meaning::number, variables())).bounds(variables()))
            << text;
}

TEST(Expression, ListsTheVariablesThatItUses) {
    const auto made = std::get<Expression>(Expression::read("lr + layers * lr > 2", Meaning::condition, variables()));
    EXPECT_THAT(made.uses(), ::testing::ElementsAre(0, 2));
}

}  // namespace
}  // namespace hpo::expression
