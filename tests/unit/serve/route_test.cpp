// The addresses of hpo serve, and the text for Prometheus.
#include "orchestrator/serve/route.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "orchestrator/serve/metrics.hpp"

namespace hpo::serve {
namespace {

using To = Route::To;

TEST(Routes, AreThoseOfTheDocument) {
    EXPECT_EQ(route_of("/"), Route{To::page});
    EXPECT_EQ(route_of("/study/phase1"), (Route{To::page, "phase1"}));
    EXPECT_EQ(route_of("/api/studies"), Route{To::list});
    EXPECT_EQ(route_of("/api/studies/phase1"), (Route{To::study, "phase1"}));
    EXPECT_EQ(route_of("/api/studies/phase1/page"), (Route{To::document, "phase1"}));
    EXPECT_EQ(route_of("/api/studies/phase1/events"), (Route{To::events, "phase1"}));
    EXPECT_EQ(route_of("/api/studies/phase1/stop"), (Route{To::stop, "phase1"}));
    EXPECT_EQ(route_of("/api/studies/phase1/trials"), (Route{To::trials, "phase1"}));
    EXPECT_EQ(route_of("/api/studies/phase1/trials/7"), (Route{To::trial, "phase1", 7}));
    EXPECT_EQ(route_of("/api/studies/phase1/trials/7/stop"), (Route{To::stop, "phase1", 7}));
    EXPECT_EQ(route_of("/api/studies/phase1/notes"), (Route{To::notes, "phase1"}));
    EXPECT_EQ(route_of("/api/studies/phase1/trials/7/tags"), (Route{To::tags, "phase1", 7}));
}

TEST(Routes, NothingElseIsThere) {
    for (const char* path : {"",
                             "x",
                             "//",
                             "/api",
                             "/api/",
                             "/api/studies/",
                             "/api/studies//page",
                             "/api/studies/a/b",
                             "/api/studies/a/trials/",
                             "/api/studies/a/trials/0",
                             "/api/studies/a/trials/-1",
                             "/api/studies/a/trials/1x",
                             "/api/studies/a/trials/99999999999999999999",
                             "/api/studies/a/trials/1/stop/",
                             "/api/studies/a/trials/1/log",
                             "/api/studies/a/trials/1/page",
                             "/study/",
                             "/study/a/b",
                             "/../etc/passwd",
                             "/api/studies/a/page/1"})
        EXPECT_EQ(route_of(path), std::nullopt) << path;
}

TEST(Metrics, HaveAFamilyWithHelpAndTypeAndNoValueWhereThereIsNone) {
    const Figures none{.study = "a", .metric = "loss", .budget = 4};
    const Figures odd{.study = "q\"\\\n",
                      .metric = "loss",
                      .running = true,
                      .trials = {0, 2, 0, 5, 0, 0, 0},
                      .budget = 40,
                      .steps = 123,
                      .best = -std::numeric_limits<double>::infinity()};
    const std::string text = metrics_text(std::vector<Figures>{none, odd});
    EXPECT_NE(text.find("# HELP hpo_study_running "), std::string::npos);
    EXPECT_NE(text.find("# TYPE hpo_study_steps_total counter\nhpo_study_steps_total{study=\"a\"} 0\n"),
              std::string::npos);
    EXPECT_NE(text.find("hpo_study_running{study=\"q\\\"\\\\\\n\"} 1\n"), std::string::npos);
    EXPECT_NE(text.find(",state=\"complete\"} 5\n"), std::string::npos);
    EXPECT_NE(text.find(",metric=\"loss\"} -Inf\n"), std::string::npos);
    EXPECT_EQ(text.find("best_value{study=\"a\""), std::string::npos);
}

}  // namespace
}  // namespace hpo::serve
