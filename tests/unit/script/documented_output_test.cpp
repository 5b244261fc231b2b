// Each row of the tables in docs/output.md: a printed line, the metric that it has, and its value.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <string>

#include "orchestrator/script/syntax/steps.hpp"
#include "tests/support/paths.hpp"

namespace hpo::script {
namespace {

TEST(DocumentedOutput, HasTheMetricsAndValuesOfItsRows) {
    const std::regex row("\\| `(.*)` \\| `([^`]*)` \\| ([0-9.]+) \\|");
    std::ifstream document(testing::source_folder() + "/docs/output.md");
    int rows = 0;
    for (std::string line; std::getline(document, line);) {
        std::smatch found;
        if (!std::regex_match(line, found, row)) continue;
        ++rows;
        const std::string metric = found[2];
        StepReader reader(*make_output_reader({}), {.objective = metric});
        reader.feed(found[1].str() + "\n");
        reader.finish();
        const auto step = reader.take();
        EXPECT_EQ(reader.warning(), "") << line;
        if (step)
            EXPECT_EQ(step->metrics.at(metric), std::stod(found[3])) << line;
        else
            ADD_FAILURE() << "not read: " << line;
    }
    EXPECT_GT(rows, 20);
}

}  // namespace
}  // namespace hpo::script
