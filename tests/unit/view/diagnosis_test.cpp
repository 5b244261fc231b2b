#include "orchestrator/view/diagnosis.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
using Json = nlohmann::ordered_json;

/// An installation on a machine without a GPU, where nothing is missing.
Installation sound() {
    Installation here;
    here.version = "1.2.3";
    here.machine.host = {{0, 1}, 2, 8 * gibibyte, {}, "Imaginary CPU"};
    here.machine.available = 6 * gibibyte;
    here.machine.libraries = Json::parse(R"({
        "version": "1.2.3", "cpu": {"name": "cpu, x86-64-v3, oneDNN 2.6.3, OpenBLAS Haswell"},
        "onednn": {"path": "/lib/libdnnl.so.2"}, "xgboost": {"path": "/lib/libxgboost.so.0"}, "cuda": {"problem": "libcuda.so.1: not found"},
        "nvrtc": {"problem": "not found"}, "nvrtc_builtins": {"problem": "NVRTC is not there"},
        "cublas": {"problem": "not found"}, "opencl": {"problem": "OpenCL is not installed: not found"},
        "clblast": {"problem": "CLBlast is not installed: not found"}})");
    here.worker = "/opt/hpo/bin/hpo-worker";
    here.store = {"/home/me/runs", "", {}, "", 100 * gibibyte, 3, 1};
    here.cache = {"/home/me/.cache/hpo", "", 2};
    here.measured = {"cpu"};
    here.python = {"/usr/bin/python3", "3.11.2", "/opt/hpo/share/hpo/python", ""};
    here.studies = {{"studies/phase1.yaml", ""}};
    return here;
}

/// The same with an NVIDIA GPU and all of CUDA's libraries.
Installation with_gpu() {
    Installation here = sound();
    DeviceReading device;
    device.id = "GPU-1111";
    device.name = "Imaginary 9000";
    device.memory = 24 * gibibyte;
    device.used = 6 * gibibyte;
    device.processes.emplace();
    here.machine.readings.devices = {device};
    here.machine.libraries["cuda"] = {{"path", "/lib/libcuda.so.1"}, {"version", "12.4"}};
    for (const char* name : {"nvrtc", "nvrtc_builtins", "cublas"})
        here.machine.libraries[name] = {{"path", std::string("/cuda/lib") + name + ".so"}};
    here.measured.emplace_back("cuda 0");
    return here;
}

std::vector<Finding> findings_with(const Installation& installation, Health health) {
    std::vector<Finding> found = diagnose(installation).findings;
    std::erase_if(found, [&](const Finding& finding) { return finding.health != health; });
    return found;
}

std::string text_of(const Installation& installation) {
    return view::draw_diagnosis(diagnose(installation), {.width = 0, .height = 0, .colour = false, .utf8 = true});
}

auto about(const std::string& subject) { return Field(&Finding::subject, subject); }

TEST(Installation, WhereNothingIsMissingAllIsWellAndHpoCanTrain) {
    for (const Installation& here : {sound(), with_gpu()}) {
        EXPECT_THAT(findings_with(here, Health::missing), ElementsAre());
        EXPECT_TRUE(diagnose(here).can_train());
    }
    EXPECT_THAT(text_of(sound()),
                AllOf(Mentions("well     processor", "Imaginary CPU, 2 cores", "8.000 GiB of", "6.000 GiB free",
                               "2.000 GiB used", "other"),
                      HasSubstr("cpu, x86-64-v3, oneDNN 2.6.3, OpenBLAS Haswell"), Mentions("absent   GPUs", "CPU"),
                      Mentions("100.0 GiB free", "3 studies", "1 runs"), Mentions("2 files", "kernels"),
                      HasSubstr("for 1 ready"), Mentions("hpo can", "CPU.")));
    EXPECT_THAT(text_of(with_gpu()), AllOf(Mentions("GPU 0", "Imaginary 9000 (GPU-1111)", "24.00 GiB of",
                                                    "18.00 GiB free", "6.000 GiB used", "other"),
                                           HasSubstr("/lib/libcuda.so.1, CUDA 12.4\n"), Mentions("CPU, cuda 0")));
}

TEST(Installation, WithoutCublasTheGpuTrainsSlowerAndTheCureFitsTheDriver) {
    Installation here = with_gpu();
    here.machine.libraries["cublas"] = {{"problem", "libcublas of CUDA 12 is not found"}};
    const auto missing = findings_with(here, Health::missing);
    ASSERT_THAT(missing, ElementsAre(about("cuBLAS")));
    EXPECT_THAT(missing[0].follows, Mentions("native", "multiplies", "slower"));
    EXPECT_THAT(missing[0].cure, Mentions("nvidia-cublas-cu12"));
    EXPECT_THAT(diagnose(here).devices, ElementsAre("cpu", "cuda 0"));
    here.machine.libraries["cuda"]["version"] = "13.0";
    EXPECT_THAT(findings_with(here, Health::missing)[0].cure, HasSubstr("nvidia-cublas,"));
    EXPECT_THAT(text_of(here),
                AllOf(Mentions("missing  cuBLAS", "CUDA 12"), Mentions("                          so ", "slower"),
                      Mentions("                          cure: python3 -m pip", "nvidia-cublas")));
}

TEST(Installation, WithoutTheCompilerNoTrialTrainsOnTheGpu) {
    for (const char* library : {"nvrtc", "nvrtc_builtins", "cuda"}) {
        Installation here = with_gpu();
        here.machine.libraries[library] = {{"problem", "not found"}};
        EXPECT_THAT(diagnose(here).devices, ElementsAre("cpu")) << library;
        EXPECT_EQ(findings_with(here, Health::missing).size(), 1U) << library;
        EXPECT_TRUE(diagnose(here).can_train()) << "on the CPU";
    }
}

TEST(Installation, AGpuThatIsLostAndDriversThatFailAreNamedWithTheReason) {
    Installation here = with_gpu();
    here.machine.readings.devices[0].lost = true;
    here.machine.readings.devices[0].reason = "the driver reports: GPU is lost (code 15)";
    here.machine.problem = "the NVIDIA driver reports: Fake Error (code 9); load the driver (modprobe nvidia)";
    const std::string text = text_of(here);
    EXPECT_THAT(text, AllOf(Mentions("GPU 0 (Imaginary 9000, GPU-1111)", "cannot"), Mentions("so ", "no ", "trains"),
                            HasSubstr("(modprobe nvidia)"), Mentions("not", "examined:", "no NVIDIA GPU"),
                            Mentions("hpo can", "CPU.")));
}

TEST(Installation, OpenClNamesItsPlatformsAndMissesClBlastForAGpuOnly) {
    Installation here = sound();
    here.machine.libraries["opencl"] = {{"path", "/lib/libOpenCL.so.1"}};
    EXPECT_THAT(text_of(here), HasSubstr("/lib/libOpenCL.so.1"));
    DeviceReading device;
    device.kind = DeviceKind::opencl;
    device.opencl = 0;
    device.id = "OCL-1";
    device.name = "Imaginary";
    device.platform = "Portable";
    device.cpu = device.unified = true;
    here.machine.readings.devices = {device};
    EXPECT_THAT(text_of(here), AllOf(HasSubstr("/lib/libOpenCL.so.1, platform Portable\n"),
                                     Mentions("device 0", "Imaginary (OCL-1)", "host's", "CPU"),
                                     Not(HasSubstr("CLBlast")), HasSubstr("CPU.")));
    here.machine.readings.devices[0].cpu = false;
    EXPECT_THAT(diagnose(here).devices, ElementsAre("cpu", "opencl 0"));
    EXPECT_THAT(findings_with(here, Health::missing), ElementsAre(about("CLBlast"), about("calibration")));
}

TEST(Installation, AMacShowsItsKindsOfCoresAndWhatItsGpuMayUse) {
    Installation here = sound();
    here.machine.host.kinds = {{"Performance", 8}, {"Efficiency", 2}};
    DeviceReading device;
    device.kind = DeviceKind::metal;
    device.id = "MTL-AGXAcceleratorG13X";
    device.name = "Apple M1 Pro";
    device.unified = true;
    device.memory = std::int64_t{12} << 30;
    here.machine.readings.devices = {device};
    EXPECT_THAT(text_of(here),
                AllOf(HasSubstr("2 cores (8 Performance, 2 Efficiency)"),
                      Mentions("GPU 0", "Apple M1 Pro (MTL-AGXAcceleratorG13X)", "host's", "12.00 GiB")));
    EXPECT_THAT(diagnose(here).devices, ElementsAre("cpu")) << "native trials do not train on it";
}

TEST(Installation, WithoutAWorkerThatTrainsOrAPlaceForStudiesHpoCannotTrain) {
    const auto wrong = [](const std::function<void(Installation&)>& change) {
        Installation here = sound();
        change(here);
        const auto found = findings_with(here, Health::wrong);
        EXPECT_EQ(found.size(), 1U);
        EXPECT_FALSE(diagnose(here).can_train());
        EXPECT_THAT(text_of(here), Mentions("cannot", "train"));
        return found.empty() ? Finding() : found[0];
    };
    EXPECT_THAT(wrong([](auto& here) {
                    here.worker_problem = "No such file or directory";
                    here.machine.libraries = nullptr;
                }).text,
                HasSubstr("/opt/hpo/bin/hpo-worker: No such file"));
    EXPECT_THAT(wrong([](auto& here) { here.machine.libraries["version"] = "1.2.2"; }).text,
                HasSubstr("version 1.2.2"));
    EXPECT_THAT(wrong([](auto& here) { here.store.problem = "cannot be written: Permission denied"; }).cure,
                HasSubstr("HPO_RUNS"));
    EXPECT_THAT(wrong([](auto& here) { here.store.lock_problem = "No locks available"; }).text,
                Mentions("cannot", "locked: No locks"));
}

TEST(Installation, ANetworkFileSystemWithLocksIsNamedAndWillDo) {
    Installation here = sound();
    here.store.network = "NFS";
    EXPECT_TRUE(diagnose(here).can_train());
    EXPECT_THAT(text_of(here), Mentions("writable", "locks", "NFS"));
}

TEST(Installation, WhatIsMissingElsewhereIsToldWithWhatFollowsAndTheCure) {
    const auto missing = [](const std::function<void(Installation&)>& change) {
        Installation here = sound();
        change(here);
        EXPECT_TRUE(diagnose(here).can_train());
        const auto found = findings_with(here, Health::missing);
        EXPECT_EQ(found.size(), 1U);
        if (found.empty()) return Finding();
        EXPECT_NE(found[0].follows, "");
        EXPECT_NE(found[0].cure, "");
        return found[0];
    };
    EXPECT_EQ(missing([](auto& here) {
                  here.machine.libraries["onednn"] = {{"problem", "oneDNN is not installed"}};
              }).cure,
              "apt install libdnnl2");
    EXPECT_EQ(missing([](auto& here) {
                  here.machine.libraries["xgboost"] = {{"problem", "no library"}};
              }).cure,
              "apt install libxgboost0");
    EXPECT_THAT(missing([](auto& here) { here.store.free = 1 << 20; }).text,
                MentionsInOrder("1.000 MiB", "free", "/home/me/runs"));
    EXPECT_THAT(missing([](auto& here) { here.cache.path.clear(); }).cure, HasSubstr("XDG_CACHE_HOME"));
    EXPECT_THAT(missing([](auto& here) { here.cache.problem = "Read-only file system"; }).text, HasSubstr("Read-only"));
    EXPECT_EQ(missing([](auto& here) { here.measured.clear(); }).cure, "hpo bench devices");
    EXPECT_EQ(missing([](auto& here) { here.refused = {"the measurements in x are not used"}; }).cure,
              "hpo bench devices");
    EXPECT_EQ(missing([](auto& here) { here.python.path.clear(); }).cure, "apt install python3");
    EXPECT_THAT(missing([](auto& here) { here.python.problem = "No module named 'hpo'"; }).text,
                HasSubstr("/usr/bin/python3: No module"));
    EXPECT_EQ(missing([](auto& here) {
                  here.studies[0].problem =
                      "data.path: no folder x; Debian's data sets install with: apt install dataset-x";
              }).cure,
              "apt install dataset-x");
}

TEST(Installation, AnUnusedOneDnnIsNotMissing) {
    Installation here = sound();
    here.machine.libraries["onednn"] = {{"problem", ""}};
    EXPECT_THAT(findings_with(here, Health::missing), ElementsAre());
    EXPECT_THAT(findings_with(here, Health::absent), Contains(about("oneDNN")));
}

TEST(Installation, ControlCharactersAndColoursAreNotPrintedUnlessTheyAreHpos) {
    Installation here = with_gpu();
    here.machine.readings.devices[0].name = "\x1b[2Jevil";
    here.machine.host.cpu_name = "\x1b]0;evil\x07";
    EXPECT_THAT(text_of(here), Not(HasSubstr("\x1b")));
    EXPECT_THAT(view::draw_diagnosis(diagnose(sound()), {.width = 80, .height = 24, .colour = true, .utf8 = true}),
                HasSubstr("\x1b["));
}

TEST(Installation, JsonHasAllFindings) {
    Installation here = with_gpu();
    here.machine.libraries["cublas"] = {{"problem", "not found"}};
    const Json json = to_json(diagnose(here));
    EXPECT_EQ(json["can_train"], true);
    EXPECT_EQ(json["devices"], Json({"cpu", "cuda 0"}));
    const auto cublas = std::find_if(json["findings"].begin(), json["findings"].end(),
                                     [](const Json& finding) { return finding["subject"] == "cuBLAS"; });
    ASSERT_NE(cublas, json["findings"].end());
    EXPECT_EQ((*cublas)["state"], "missing");
    EXPECT_EQ(json["findings"][0]["cure"], nullptr);
}

}  // namespace
}  // namespace hpo
