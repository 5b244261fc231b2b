#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "hpo/wire.hpp"
#include "tests/support/paths.hpp"

namespace hpo {
namespace {

using ::testing::UnorderedElementsAre;

struct Examples {
    std::set<std::string> from_worker;
    std::set<std::string> from_orchestrator;
};

/// Decodes every example of the document with the codec of its section, encodes it, and decodes the result again.
Examples decode_document() {
    std::ifstream document(testing::source_folder() + "/docs/protocol.md");
    Examples found;
    std::string section;
    for (std::string line; std::getline(document, line);) {
        if (line.starts_with("## ")) section = line.substr(3);
        if (!line.starts_with("    {")) continue;
        const std::string text = line.substr(4);
        const auto type = wire::Json::parse(text).at("type").get<std::string>();
        const auto check = [&](const auto& decoded, auto again) {
            ASSERT_TRUE(decoded) << text << "\n" << decoded.error().message;
            const std::string encoded = wire::encode(*decoded);
            const auto second = again(std::string_view(encoded));
            ASSERT_TRUE(second) << encoded;
            EXPECT_EQ(wire::encode(*second), encoded);
            // The codec knows every member of an example, so all of them are encoded again.
            const auto written = wire::Json::parse(encoded);
            const auto example = wire::Json::parse(text);
            for (const auto& [key, value] : example.items()) EXPECT_EQ(written.at(key), value) << key;
        };
        if (section == "From the worker") {
            check(wire::decode_worker(text), wire::decode_worker);
            found.from_worker.insert(type);
        } else {
            check(wire::decode_orchestrator(text), wire::decode_orchestrator);
            found.from_orchestrator.insert(type);
        }
    }
    return found;
}

TEST(Protocol, EveryExampleOfTheDocumentDecodesAndEveryMessageHasOne) {
    const Examples found = decode_document();
    EXPECT_THAT(found.from_worker,
                UnorderedElementsAre("hello", "plan", "started", "report", "alive", "finished", "log"));
    EXPECT_THAT(found.from_orchestrator,
                UnorderedElementsAre("welcome", "plan", "run", "decision", "stop", "cores", "shutdown"));
}

TEST(Protocol, APlanAnswerOfVersionOneIsReadWithItsOldNames) {
    const auto decoded = wire::decode_worker(
        R"({"type":"plan","id":5,"device_bytes":5,"host_bytes":3,"cores":1,"arena_bytes":2,"data_bytes":4,)"
        R"("parameters":5,"iterations_per_step":2,"flops_per_step":1,"shape":"9f31c0",)"
        R"("beside":{"device_bytes":7,"host_bytes":8,"cores":0}})");
    ASSERT_TRUE(decoded) << decoded.error().message;
    const auto& answer = std::get<from_worker::PlanAnswer>(*decoded);
    EXPECT_EQ(answer.fusion_key, "9f31c0");
    EXPECT_EQ(answer.colocated.device_bytes, 7);
    EXPECT_EQ(answer.colocated.host_bytes, 8);
    EXPECT_EQ(answer.colocated.cores, 0);
}

}  // namespace
}  // namespace hpo
