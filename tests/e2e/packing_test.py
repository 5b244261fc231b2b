"""Parallel trials within the memory headroom, with real processes: fake devices whose workers take the predicted memory, more, or ever more;
other programs' memory; failing devices and libraries; native workers within little memory. The number in a test's name is its row of
docs/guarantees.md."""
import json
import os
import pathlib
import signal
import sqlite3
import time
import unittest

from harness import BUILD, FAKE, Case, processes_of, synthetic, wait_for

NVML = str(next((BUILD / "tests" / "support").glob("libfake-nvml*"), BUILD / "none"))
MIB = 1 << 20
RESERVE = 0.10


class Fakes(Case):
    """Runs studies of fake workers on a machine with fake devices."""

    def setUp(self):
        super().setUp()
        self.worker = ""
        self.script = self.folder / "nvml"
        self.runtime = self.folder / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.environment = {"HPO_NVML_LIBRARY": NVML, "FAKE_NVML": str(self.script), "XDG_RUNTIME_DIR": str(self.runtime)}

    def machine(self, *lines):
        """Sets the script of the fake management library, line by line (tests/support/FAKES.md)."""
        beside = self.folder / "nvml.new"
        beside.write_text("".join(line + "\n" for line in lines))
        os.replace(beside, self.script)

    def packed(self, script, space="", trials=8, epochs=3, resources="", name="packed", batch=""):
        """Writes a study of fake workers with this script (tests/support/FAKES.md). Without one, `space` has several to choose from."""
        self.worker = "" if "plan=" in script + space else "planless"
        fixed = ", ".join(([f'fake: "{script}"'] if script else []) + ([batch] if batch else []))
        return self.study(f"""\
study: {name}
objective: {{metric: val_loss, direction: minimize}}
space:
  x: {{type: float, low: 0.0, high: 1.0}}
  {space}
worker: {{command: ["{FAKE}"], params: {{{fixed}}}}}
budget: {{trials: {trials}, epochs: {epochs}}}
sampler: {{type: random}}
policy: {{min_batch_size: 1}}
resources: {{progress_timeout: 30s, grace: 1s{resources}}}
""")

    def run_packed(self, *arguments, worker=None, **more):
        return self.hpo("run", *arguments, environment={**self.environment, "FAKE_WORKER": self.worker if worker is None else worker}, **more)

    def start_packed(self, *arguments):
        return self.start("run", *arguments, environment={**self.environment, "FAKE_WORKER": self.worker})

    def log(self, name="packed"):
        return (self.folder / "runs" / name / "hpo.log").read_text()

    def events(self, name="packed"):
        """Returns the study's events from its database, as (kind, trial, attempt, body) in their order."""
        try:
            connection = sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True)
        except sqlite3.OperationalError:
            return []
        try:
            rows = connection.execute("select sequence, kind, trial, attempt, body from event "
                                      "union all select sequence, 5, trial, attempt, '{}' from step order by sequence").fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            connection.close()
        return [(KINDS.get(kind, kind), trial, attempt, json.loads(body)) for _, kind, trial, attempt, body in rows]

    def launches(self, name="packed"):
        return [(trial, attempt, body) for kind, trial, attempt, body in self.events(name) if kind == "launched"]

    def assert_all_ended_once(self, trials, states=("complete",), name="packed"):
        """Expects that no trial was lost, that none ended twice, and that each ended in one of the states."""
        ended = [trial for kind, trial, _, _ in self.events(name) if kind == "finished"]
        self.assertEqual(sorted(ended), list(range(1, trials + 1)))
        self.assertEqual({t["state"] for t in self.trials(name)} - set(states), set())
        self.assert_sound(name)
        self.assert_nobody_left()

    def assert_never_the_same_launch_twice(self, name="packed"):
        """Expects that an attempt that ran out of memory is followed by one with another reservation."""
        before = {}
        out_of_memory = set()
        for kind, trial, _, body in self.events(name):
            if kind == "requeued" and body.get("outcome") == "out_of_memory":
                out_of_memory.add(trial)
            if kind != "launched":
                continue
            now = (body.get("device_bytes"), body.get("host_bytes"), body.get("alone", False), body.get("micro_batches", 0))
            if trial in out_of_memory:
                self.assertNotIn(now, before.get(trial, []), f"trial {trial} was launched again as it was")
                out_of_memory.discard(trial)
            before.setdefault(trial, []).append(now)

    def most_reserved(self, name="packed"):
        """Returns the largest sum of the reservations of running trials on each device. It is an upper bound, since measured peaks lower reservations later."""
        running, most = {}, {}
        for kind, trial, _, body in self.events(name):
            if kind == "launched":
                running[trial] = (body.get("device", "host"), body["device_bytes"])
            elif kind in ("finished", "requeued", "paused"):
                running.pop(trial, None)
            sums = {}
            for device, size in running.values():
                sums[device] = sums.get(device, 0) + size
            for device, size in sums.items():
                most[device] = max(most.get(device, 0), size)
        return most

    def at_once(self, name="packed"):
        running, most = set(), 0
        for kind, trial, _, _ in self.events(name):
            if kind == "launched":
                running.add(trial)
            elif kind in ("finished", "requeued", "paused"):
                running.discard(trial)
            most = max(most, len(running))
        return most


# The numbers of the store's events.
KINDS = {1: "session started", 2: "session ended", 3: "proposed", 4: "launched", 5: "reported", 6: "paused", 7: "requeued", 8: "finished", 9: "measured"}
DECLARED = ", trial: {memory: 16MiB, gpu_memory: 1000MiB, cores: 0.1}"


class Library(Fakes):
    """Row 34: the management library is absent, slow, failing or hangs."""

    def test_row_34_without_the_library_a_script_runs_on_the_host_and_cuda_is_an_error(self):
        self.environment["HPO_NVML_LIBRARY"] = str(self.folder / "none.so")
        study = self.packed("each=0.01", resources=", parallel: 2")
        self.run_packed(study)
        self.assert_all_ended_once(8)
        self.assertEqual({body.get("device") for _, _, body in self.launches()}, {None})
        self.run_packed(study, "--fresh", "--set", "resources.backend=cuda", status=1)
        self.assertIn("GPU", self.error)

    def test_row_34_a_library_that_hangs_from_the_start_blocks_nothing(self):
        self.machine("device GPU-a 8GiB Fake", "hang")
        self.environment["HPO_GPU_WAIT"] = "2"
        began = time.monotonic()
        self.run_packed(self.packed("each=0.01", trials=4, resources=", parallel: 2"))
        self.assertLess(time.monotonic() - began, 12)
        self.assert_all_ended_once(4)
        self.assertEqual(self.log().count("warning"), 1, self.log())

    def test_row_34_a_library_that_starts_to_hang_blocks_nothing_and_is_reported_once(self):
        self.machine("device GPU-a 8GiB Fake")
        study = self.packed("take=1000;each=0.3", trials=12, epochs=4, resources=DECLARED)
        child = self.start_packed(study)
        wait_for(lambda: self.launches())
        self.machine("device GPU-a 8GiB Fake", "hang", "hang nvmlDeviceGetCount_v2")
        self.assertEqual(child.wait(60), 0, child.stderr.read())
        self.assert_all_ended_once(12)

    def test_row_34_a_slow_library_delays_nothing(self):
        self.machine("device GPU-a 8GiB Fake", "slow 1.5 nvmlDeviceGetCount_v2")
        self.run_packed(self.packed("take=1000;each=0.05", resources=DECLARED))
        self.assert_all_ended_once(8)


class Packing(Fakes):
    seconds = 12

    def test_every_device_is_filled_with_what_fits_and_none_over_its_capacity(self):
        self.machine("device GPU-a 8GiB Fake", "device GPU-b 4GiB Fake")
        study = self.packed("plan=mib;planhost=16;plancores=0.1;take=mib;each=0.1", space="mib: {type: int, low: 300, high: 1500}", trials=24, epochs=4,
                            resources=", parallel: 16")
        self.run_packed(study)
        self.assert_all_ended_once(24)
        self.assertEqual({attempt for _, attempt, _ in self.launches()}, {1}, "nobody ran out of memory")
        most = self.most_reserved()
        for device, capacity in {"GPU-a": 8192, "GPU-b": 4096}.items():
            self.assertLessEqual(most[device], capacity * MIB * (1 - RESERVE))
            self.assertGreater(most[device], 0.6 * capacity * MIB, "a device was not filled")
        self.assertGreater(self.at_once(), 5)

    def test_lists_per_device_limit_its_trials_and_reservations(self):
        self.machine("device GPU-a 8GiB Fake", "device GPU-b 8GiB Fake", "device GPU-c 8GiB Fake")
        study = self.packed("take=500;each=0.1", trials=12, resources=", devices: [GPU-c, 0], parallel: [1, 4], gpu_memory: [8GiB, 1100MiB], "
                            "trial: {memory: 16MiB, gpu_memory: 500MiB, cores: 0.1}")
        self.run_packed(study)
        self.assert_all_ended_once(12)
        most = self.most_reserved()
        self.assertNotIn("GPU-b", most)
        self.assertEqual(most["GPU-c"], 500 * MIB)
        self.assertEqual(most["GPU-a"], 1000 * MIB)

    def test_a_trial_on_two_devices_sees_and_reserves_both_and_is_refused_if_there_is_one(self):
        self.machine("device GPU-a 8GiB Fake", "device GPU-b 8GiB Fake", "device GPU-c 8GiB Fake")
        train = self.folder / "train.py"
        train.write_text("import os\nprint('sees', os.environ['CUDA_VISIBLE_DEVICES'])\nprint('val_loss=1')\n")
        study = self.study(f"""\
study: packed
objective: {{metric: val_loss, direction: minimize}}
space: {{x: {{type: float, low: 0.0, high: 1.0}}}}
worker: {{command: [python3, "{train}", "{{x}}"]}}
budget: {{trials: 4, epochs: 1}}
sampler: {{type: random}}
resources: {{trial: {{gpus: 2, gpu_memory: 5GiB, memory: 16MiB, cores: 0.1}}}}
""")
        checked = self.hpo("check", study, environment=self.environment)
        self.assert_mentions(checked, "2 devices", "at once")
        self.assert_mentions(checked, "16.00 MiB", "memory", "5.000 GiB", "device memory", "each", "2 devices")
        self.run_packed(study)
        self.assert_all_ended_once(4)
        for trial, _, body in self.launches():
            devices = body["device"].split(",")
            self.assertEqual(len(set(devices)), 2)
            self.assertIn("sees " + body["device"], self.hpo("logs", f"packed/{trial}"))
        self.assertEqual(self.at_once(), 1, "a third device is not two")
        self.machine("device GPU-a 8GiB Fake")
        self.run_packed(study, "--fresh", status=1)
        self.assert_mentions(self.error, "resources.trial.gpus: ", "2 devices", "at once", "1")

    def test_a_footprint_that_nobody_declared_is_learned_from_the_first_trial_which_runs_alone(self):
        self.machine("device GPU-a 8GiB Fake")
        study = self.packed("take=mib;each=0.15", space="mib: {type: int, low: 200, high: 900}", trials=16, epochs=6, resources=", parallel: 8, trial: {cores: 0.1}")
        self.run_packed(study)
        self.assert_all_ended_once(16)
        first, second = self.launches()[:2]
        self.assertTrue(first[2].get("alone"))
        kinds = [kind for kind, _, _, _ in self.events()]
        self.assertIn("reported", kinds[:[i for i, kind in enumerate(kinds) if kind == "launched"][1]], "the second waited for the first report")
        self.assertFalse(second[2].get("alone", False))
        self.assertGreater(self.at_once(), 2)
        for trial in self.trials("packed"):
            self.assertGreaterEqual(trial["peak"]["device_bytes"], trial["params"]["mib"] * MIB)

    def test_a_trial_too_large_for_every_empty_device_fails_with_the_numbers_and_the_others_run(self):
        self.machine("device GPU-a 4GiB Fake")
        study = self.packed("plan=mib;planhost=16;plancores=0.1;take=mib", space="mib: {type: categorical, choices: [500, 9000]}", trials=8)
        self.run_packed(study)
        self.assert_all_ended_once(8, ("complete", "failed"))
        for trial in self.trials("packed"):
            self.assertEqual(trial["state"], "failed" if trial["params"]["mib"] == 9000 else "complete")
            if trial["state"] == "failed":
                self.assert_mentions(trial["reason"], "8.789 GiB", "device memory", "GPU-a", "at most 3.600 GiB")

    def test_a_large_trial_among_many_small_ones_does_not_starve(self):
        self.machine("device GPU-a 4GiB Fake")
        study = self.packed("plan=mib;planhost=16;plancores=0.1;take=mib;each=0.03", space="mib: {type: categorical, choices: [200, 210, 220, 230, 3500]}", trials=40, resources=", parallel: 12")
        self.run_packed(study)
        self.assert_all_ended_once(40)
        order = [trial for kind, trial, _, _ in self.events() if kind == "launched"]
        for trial in self.trials("packed"):
            if trial["params"]["mib"] == 3500:
                self.assertLess(order.index(trial["trial"]) - trial["trial"], 25, "it waited for too many that came after it")

    def test_two_studies_at_once_share_a_device_by_their_reservations(self):
        self.machine("device GPU-a 8GiB Fake")
        children = []
        for name in ("first", "second"):
            study = self.packed("plan=1100;planhost=16;plancores=0.1;take=1100;each=0.2", trials=10, epochs=4, resources=", parallel: 8", name=name)
            study = study.rename(self.folder / f"{name}.yaml")
            children.append(self.start_packed(study))
        for child in children:
            self.assertEqual(child.wait(90), 0, child.stderr.read())
        for name in ("first", "second"):
            self.assert_all_ended_once(10, name=name)
            # On a loaded machine a reading may be older than the other study's latest launch.
            again = [trial for trial, attempt, _ in self.launches(name) if attempt > 1]
            self.assertLessEqual(len(again), 2, "one took what the other had reserved")

    def test_in_a_study_that_is_killed_and_resumed_every_trial_ends_once(self):
        self.machine("device GPU-a 8GiB Fake", "device GPU-b 8GiB Fake")
        study = self.packed("take=mib;each=0.05", space="mib: {type: int, low: 200, high: 2000}", trials=20, resources=", parallel: 8, trial: {cores: 0.1}")
        for steps in (2, 12, 25):
            child = self.start_packed(study)
            wait_for(lambda: sum(kind == "reported" for kind, _, _, _ in self.events()) > steps or child.poll() is not None)
            child.kill()
            child.wait()
            self.assert_nobody_left()
        self.run_packed(study)
        self.assert_all_ended_once(20)


class DeviceLost(Fakes):
    """Row 35."""

    def test_row_35_a_lost_device_is_set_aside_and_its_trials_run_elsewhere_without_blame(self):
        devices = ["device GPU-a 8GiB Fake", "device GPU-b 8GiB Fake"]
        self.machine(*devices)
        study = self.packed("take=1000;each=0.1", trials=12, epochs=6, resources=DECLARED + ", retries: 0")
        child = self.start_packed(study)
        wait_for(lambda: {body.get("device") for _, _, body in self.launches()} == {"GPU-a", "GPU-b"})
        self.machine(*devices, "lost 0")
        for pid in self.workers_on("GPU-a"):
            os.kill(pid, signal.SIGABRT)
        self.assertEqual(child.wait(90), 0)
        self.assert_all_ended_once(12)
        self.assertIn("GPU-a", self.log())
        again = [body["device"] for _, attempt, body in self.launches() if attempt > 1]
        self.assertTrue(again)
        self.assertEqual(set(again), {"GPU-b"})

    def workers_on(self, device):
        workers = []
        for pid in processes_of(self.folder):
            try:
                environment = pathlib.Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
                program = os.readlink(f"/proc/{pid}/exe")
            except OSError:
                continue
            if f"CUDA_VISIBLE_DEVICES={device}".encode() in environment and program == FAKE:
                workers.append(pid)
        return workers


class OutOfMemory(Fakes):
    """Row 36: a trial does not fail while another attempt may help, and no attempt is repeated unchanged. tests/unit/engine/memory_test.cpp and
    joining_test.cpp prove it case by case. These tests show the whole way from a process without memory to the next reservation."""

    seconds = 15

    def test_row_36_trials_that_exceed_their_reservation_get_a_larger_one_and_only_impossible_ones_fail(self):
        self.machine("device GPU-a 4GiB Fake")
        ways = ["take=2000;each=0.02", "take=300;grow=300;each=0.02", "take=2500;crash-when-full;each=0.02", "take=5000;crash-when-full"]
        choices = ", ".join(f'"{way}"' for way in ways)
        study = self.packed("", space=f"fake: {{type: categorical, choices: [{choices}]}}", trials=10, epochs=4,
                            resources=", retries: 0, trial: {memory: 16MiB, gpu_memory: 500MiB, cores: 0.1}, parallel: 8")
        self.run_packed(study, worker="planless")
        self.assert_all_ended_once(10, ("complete", "failed"))
        self.assert_never_the_same_launch_twice()
        trials = self.trials("packed")
        self.assertEqual({trial["params"]["fake"] for trial in trials}, set(ways))
        for trial in trials:
            if trial["params"]["fake"] == "take=5000;crash-when-full":
                self.assertEqual(trial["state"], "failed")
                self.assertLess(trial["attempt"], 22)
                self.assertIn("GiB", trial["reason"])
            else:
                self.assertEqual(trial["state"], "complete", trial)
        self.assert_mentions(self.log(), "worker", "SIGABRT: ", "device", "memory")

    def test_row_36_a_trial_that_fits_no_device_shrinks_its_micro_batch_at_the_same_batch_size(self):
        self.machine("device GPU-a 4GiB Fake")
        study = self.packed("plan=mib;planhost=16;plancores=0.1;take=mib", space="mib: {type: categorical, choices: [500, 6000, 14000]}", trials=8,
                            batch="batch_size: 64")
        self.run_packed(study, worker="shrinks")
        self.assert_all_ended_once(8)
        parts = {(trial["params"]["mib"], trial["micro_batches"]) for trial in self.trials("packed")}
        self.assertEqual(parts, {(500, None), (6000, 2), (14000, 4)})


class OtherPrograms(Fakes):
    """Row 37: the memory of other programs is read before each launch."""

    seconds = 20

    def test_row_37_a_trial_waits_while_another_program_holds_the_memory(self):
        device = "device GPU-a 8GiB Fake"
        self.machine(device, "process GPU-a 999999 7GiB")
        child = self.start_packed(self.packed("take=1000;each=0.05", trials=4, resources=DECLARED))
        wait_for(lambda: "used by other programs" in self.log_so_far())
        self.assertEqual(self.launches(), [])
        wait_for(lambda: "waiting: " in self.hpo("top", "packed", "--once", environment=self.environment))
        self.machine(device)
        self.assertEqual(child.wait(60), 0)
        self.assert_all_ended_once(4)
        self.assertEqual({attempt for _, attempt, _ in self.launches()}, {1})

    def test_row_37_a_program_that_starts_meanwhile_delays_further_trials_and_ends_none(self):
        device = "device GPU-a 8GiB Fake"
        self.machine(device)
        study = self.packed("take=1000;each=0.2", trials=12, epochs=5, resources=DECLARED + ", parallel: 3")
        child = self.start_packed(study)
        wait_for(lambda: any(kind == "finished" for kind, _, _, _ in self.events()))
        self.machine(device, "process GPU-a 999999 6GiB")
        wait_for(lambda: "used by other programs" in self.log_so_far())
        self.machine(device)
        self.assertEqual(child.wait(90), 0)
        self.assert_all_ended_once(12)
        self.assert_never_the_same_launch_twice()

    def log_so_far(self):
        try:
            return self.log()
        except OSError:
            return ""


class HostMemory(Fakes):
    """Row 38, and native workers within little memory."""

    def test_row_38_a_worker_killed_by_sigkill_is_retried_with_that_reason(self):
        self.machine()
        study = self.packed("", space='fake: {type: categorical, choices: ["each=0.02", "die=SIGKILL@2"]}', trials=6,
                            resources=", backend: cpu, retries: 1, parallel: 2")
        self.run_packed(study)
        self.assert_all_ended_once(6, ("complete", "failed"))
        for trial in self.trials("packed"):
            dies = "die" in trial["params"]["fake"]
            self.assertEqual(trial["state"], "failed" if dies else "complete")
            self.assertEqual(trial["attempt"], 2 if dies else 1)

    def test_scripts_on_the_host_are_packed_by_the_measured_memory_of_their_process_trees(self):
        study = self.packed("allocate=mib;each=0.15", space="mib: {type: int, low: 20, high: 150}", trials=14, epochs=5,
                            resources=", backend: cpu, memory: 900MiB, parallel: 8, trial: {cores: 0.1}")
        self.run_packed(study)
        self.assert_all_ended_once(14)
        self.assertTrue(self.launches()[0][2].get("alone"))
        self.assertGreater(self.at_once(), 1)
        took = {trial["trial"]: trial["params"]["mib"] * MIB for trial in self.trials("packed")}
        for trial in self.trials("packed"):
            self.assertGreaterEqual(trial["peak"]["host_bytes"], took[trial["trial"]])
        running = set()
        for kind, trial, _, _ in self.events():
            if kind == "launched":
                running.add(trial)
                self.assertLessEqual(sum(took[each] for each in running), 900 * MIB)
            elif kind in ("finished", "requeued", "paused"):
                running.discard(trial)

    def test_native_workers_stay_within_little_memory_and_all_trials_end(self):
        study = self.study(synthetic(trials=12, epochs=3, parallel=8))
        needs = json.loads(self.hpo("check", study, "--json", environment=self.environment))
        limit = int(needs["host_bytes"][2] * 2.5)
        self.run_packed(study, "--set", f"resources.memory={limit}B")
        self.assert_all_ended_once(12, name="small")
        self.assertEqual(self.at_once("small"), 2)
        self.assertEqual({attempt for _, attempt, _ in self.launches("small")}, {1})

    def test_where_activations_may_be_computed_again_check_speaks_of_the_memory_of_micro_batches(self):
        study = self.study("""
            study: deep
            space: {lr: {type: float, low: 1.0e-4, high: 1.0e-2, log: true}}
            worker:
              data: {format: synthetic, samples: 256, steps: 60, vocabulary: 64}
              model: {type: transformer, depth: 4, width: 128, heads: 4}
              training: {batch_size: 64}
            policy: {min_batch_size: 64}
            budget: {trials: 1, epochs: 1}
            """)
        needs = json.loads(self.hpo("check", study, "--json"))["host_bytes"][2]
        limit = ["--set", f"resources.memory={int(needs * 0.9)}B"]
        self.assert_mentions(self.hpo("check", study, *limit), "instead", "trains", "2 micro-batches")
        again = self.hpo("check", study, *limit, "--set", "worker.training.checkpointing=auto")
        self.assert_mentions(again, "memory", "2 micro-batches", "instead")

    def test_native_trials_too_large_for_the_memory_train_in_micro_batches(self):
        study = self.study(WIDE)
        needs = json.loads(self.hpo("check", study, "--json", environment=self.environment))
        limit = int(needs["host_bytes"][2] * 0.7)
        checked = json.loads(self.hpo("check", study, "--json", "--set", f"resources.memory={limit}B", environment=self.environment))
        self.assertEqual(len(checked["too_large"]), 2)
        self.run_packed(study, "--set", f"resources.memory={limit}B")
        self.assert_all_ended_once(2, name="wide")
        expected = {entry["trial"]: entry["micro_batches"] for entry in checked["too_large"]}
        for trial in self.trials("wide"):
            # A worker measures its own process at its start. That differs by some pages, so the number may differ by one halving.
            self.assertIn(trial["micro_batches"] / expected[trial["trial"]], (0.5, 1, 2))
            self.assertGreater(trial["micro_batches"], 1)
            self.assertLessEqual(trial["reserved"]["host_bytes"], limit)
            self.assertIn("micro-batches", self.hpo("show", "wide", trial["trial"]))


class Check(Fakes):
    seconds = 9

    def test_check_shows_the_capacity_of_host_and_devices_and_the_number_of_trials_at_once(self):
        self.machine("device GPU-a 8GiB Fake", "device GPU-b 4GiB Fake", "process GPU-b 999999 1GiB")
        study = self.packed("each=0.01", trials=64, resources=", trial: {memory: 16MiB, gpu_memory: 1GiB, cores: 0.1}")
        checked = json.loads(self.hpo("check", study, "--json", environment=self.environment))
        self.assertEqual([pool["device"] for pool in checked["packing"]["pools"]], [None, "GPU-a", "GPU-b"])
        self.assertEqual([pool["trials"] for pool in checked["packing"]["pools"]], [9, 7, 2])
        self.assertEqual(checked["at_once"], 9)
        self.assertEqual(checked["packing"]["limit"], "device memory")
        text = self.hpo("check", study, environment=self.environment)
        self.assert_mentions(text, "4.000 GiB", "409.6 MiB", "free", "1.000 GiB", "others: 2.600 GiB", "; 2 reserve 2.000 GiB (76 %)")

    def test_check_tells_declared_requirements_from_learned_ones(self):
        self.machine("device GPU-a 8GiB Fake")
        text = self.hpo("check", self.packed("each=0.01", resources=", trial: {gpu_memory: 1GiB, cores: 0.1}"), environment=self.environment)
        self.assert_mentions(text, "1.000 GiB", "device memory", "0.1 cores", "declared")
        self.assert_mentions(text, "host", "memory", "learned")
        self.hpo("check", self.packed("each=0.01", resources=", memory: 1MiB, trial: {memory: 16MiB}"), environment=self.environment, status=1)
        self.assert_mentions(self.error, "no trial", "16.00 MiB", "memory")

    def test_check_predicts_the_number_of_fused_trials(self):
        study = self.study(synthetic(trials=12, epochs=2, parallel="auto"))
        for more in (["resources.slots=8", "resources.parallel=6"], ["resources.slots=3", "resources.parallel=3"], ["resources.slots=32"]):
            with self.subTest(more=more):
                arguments = [study, "--set", "resources.backend=opencl", *(word for key in more for word in ("--set", key))]
                checked = json.loads(self.hpo("check", *arguments, "--json", environment=self.environment))
                self.hpo("run", *arguments, "--fresh", "--quiet", environment=self.environment)
                self.assertEqual(checked["at_once"], self.at_once("small"))
                reserved = [body["device_bytes"] for _, _, body in self.launches("small")[:checked["at_once"]]]
                self.assertEqual(checked["packing"]["pools"][1]["reserved"], sum(reserved))
                self.assertGreater(reserved[0], reserved[1])

    def test_check_announces_that_a_script_without_declarations_is_measured_first(self):
        self.machine("device GPU-a 8GiB Fake")
        text = self.hpo("check", self.packed("each=0.01"), environment=self.environment)
        self.assert_mentions(text, "first", "alone", "report")


WIDE = """\
study: wide
objective: {metric: val_loss, direction: minimize}
space: {lr: {type: float, low: 1.0e-3, high: 1.0e-2}}
worker:
  task: classification
  data: {format: synthetic, samples: 8192, features: 16, classes: 3}
  model: {type: mlp, hidden: [256, 256, 256]}
  training: {batch_size: 4096}
budget: {trials: 2, epochs: 2}
resources: {parallel: 2}
"""


if __name__ == "__main__":
    unittest.main()
