#include "orchestrator/engine/seen_data.hpp"

#include <gtest/gtest.h>

#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using hpo::testing::Played;

const Params params{{"path", std::string("a.csv")}, {"lr", 0.1}};

TEST(SeenData, TellsTheFirstTrialThatHadOtherData) {
    SeenData seen;
    EXPECT_EQ(seen.see(1, params, "aa"), 0);
    EXPECT_TRUE(seen.take_change());
    EXPECT_EQ(seen.see(2, params, "aa"), 0);
    EXPECT_FALSE(seen.take_change());
    SeenData later(seen.text());
    EXPECT_EQ(later.see(3, params, "bb"), 1);
    EXPECT_EQ(later.see(4, params, "aa"), 0) << "the data of trial 1 are back";
}

TEST(SeenData, TrialsWhoseDataHaveOtherParametersHaveOtherData) {
    SeenData seen;
    EXPECT_EQ(seen.see(1, params, "aa"), 0);
    Params other = params;
    other["lr"] = 0.2;
    EXPECT_EQ(seen.see(2, other, "bb"), 1) << "the learning rate does not choose the data";
    other["path"] = std::string("b.csv\n");
    EXPECT_EQ(seen.see(3, other, "cc"), 0);
    EXPECT_EQ(SeenData(seen.text()).see(4, other, "dd"), 3);
}

TEST(SeenData, WhatCannotBeUnderstoodIsNothing) {
    for (const char* text : {"", "{", "[1, null, {}, {\"trial\": \"x\"}]", "{\"trial\": 1}"})
        EXPECT_EQ(SeenData(text).see(1, params, "aa"), 0) << text;
}

class SeenDataInAStudy : public hpo::testing::OneStore {};

TEST_F(SeenDataInAStudy, DataThatHaveChangedSinceAnEarlierSessionAreToldOnce) {
    study.fixed = {{"path", std::string("a.csv")}};
    const auto begin = [](Played& play, const std::string& data) {
        play.ready(0);
        const AttemptId id = play.asked(0);
        play.say(0, from_worker::Started{id, 0, data});
        return id;
    };
    {
        Played first(study, store, 1);
        first.complete(0, begin(first, "aa"));
        EXPECT_EQ(first.notices, "");
    }
    Played second(study, store, 1);
    const AttemptId id = begin(second, "bb");
    EXPECT_NE(second.notices.find("since trial 1,"), std::string::npos) << second.notices;
    const std::string told = second.notices;
    second.complete(0, id);
    second.say(0, from_worker::Started{second.asked(0), 0, "bb"});
    EXPECT_EQ(second.notices, told);
}

}  // namespace
}  // namespace hpo
