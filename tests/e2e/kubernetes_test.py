"""Pods that join a study: the manifest of `hpo export --to kubernetes`, and what a kubelet would run for it."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import jsonschema
import yaml

from harness import HPO, wait_for
from join_test import JoinCase

SCHEMA = json.loads(pathlib.Path(__file__).with_name("kubernetes_schema.json").read_text())


class KubernetesCase(JoinCase):
    def export(self, *more, study="study.yaml", **kinds):
        return self.hpo("export", study, "--to", "kubernetes", "-", "--image", "registry/trials:1", *more, **kinds)

    def manifest(self, *more, **kinds):
        """The Job, as an independent parser reads it, once it has passed the schema."""
        job = yaml.safe_load(self.export(*more, **kinds))
        jsonschema.validate(job, SCHEMA)
        return job


class Manifests(KubernetesCase):
    def test_a_job_has_what_the_options_and_the_study_say(self):
        self.write()
        text = self.export("--volume", f"work:{self.folder}", "--agents", "8", "--cpus", "4", "--memory", "16Gi", "--gpus", "2")
        job = yaml.safe_load(text)
        jsonschema.validate(job, SCHEMA)
        spec = job["spec"]
        self.assertEqual((job["metadata"]["name"], spec["parallelism"], spec["completions"], spec["completionMode"]), ("hpo-several", 8, 8, "Indexed"))
        self.assertEqual([rule["action"] for rule in spec["podFailurePolicy"]["rules"]], ["Ignore", "Ignore"])
        self.assertEqual(spec["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"], [143])
        pod = spec["template"]["spec"]
        [container] = pod["containers"]
        amounts = {"cpu": 4, "memory": "16Gi", "nvidia.com/gpu": 2}
        self.assertEqual(container["resources"], {"requests": amounts, "limits": amounts})
        self.assertEqual(container["image"], "registry/trials:1")
        names = [volume["name"] for volume in pod["volumes"]]
        self.assertEqual(sorted(names), sorted(mount["name"] for mount in container["volumeMounts"]))
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        self.assertEqual(volumes["shared-memory"]["emptyDir"], {"medium": "Memory"})
        self.assertEqual(volumes["study-0"]["persistentVolumeClaim"], {"claimName": "work"})
        self.assertIn({"name": "study-0", "mountPath": str(self.folder)}, container["volumeMounts"])
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], 30)
        # What the level `restricted` of the Pod Security Standards asks for.
        self.assertTrue(pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0)
        self.assertEqual(pod["securityContext"]["runAsUser"], os.geteuid() or 1000)
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
        self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})
        self.assert_mentions(text, "kubectl", volumes["join"]["secret"]["secretName"], f"--from-file=join.json={self.folder}/runs/several/join.json")
        self.assert_mentions(text, "hpo run study.yaml --on join")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_file_is_written_once_and_never_has_the_key(self):
        self.write(trials=2)
        child = self.listen()
        more = ["--image", "x", "--volume", self.folder, "--cpus", 1, "--memory", "1Gi"]
        self.hpo("export", "study.yaml", "--to", "kubernetes", "pods.yaml", *more)
        self.assert_mentions(self.error, "1 pod", "several", "pods.yaml")
        text = (self.folder / "pods.yaml").read_text()
        self.assertNotIn(json.loads(self.join_file().read_text())["key"], text)
        self.hpo("export", "study.yaml", "--to", "kubernetes", "pods.yaml", *more, status=1)
        self.assert_mentions(self.error, "pods.yaml", "--force")
        child.send_signal(signal.SIGINT)
        self.ended(child, 130)

    def test_a_script_declares_what_its_pods_get_and_its_files_are_named(self):
        elsewhere = tempfile.TemporaryDirectory()
        self.addCleanup(elsewhere.cleanup)
        script = pathlib.Path(elsewhere.name, "train.sh")
        script.write_text("echo loss=1")
        self.study(f"""\
study: Big_Model.v2
objective: {{metric: loss, direction: minimize}}
space: {{x: {{type: float, low: 0.0, high: 1.0}}}}
worker: {{command: [/bin/sh, {script}, "{{x}}"]}}
budget: {{trials: 3, epochs: 1}}
resources: {{grace: 90s, backend: cuda, trial: {{memory: 8GiB, cores: 3, gpus: 2}}}}
""")
        text = self.export("--volume", self.folder)
        job = yaml.safe_load(text)
        jsonschema.validate(job, SCHEMA)
        pod = job["spec"]["template"]["spec"]
        self.assertRegex(job["metadata"]["name"], "^hpo-big-model-v2-[0-9a-f]{8}$")
        self.assertEqual(pod["volumes"][-1]["hostPath"]["path"], str(self.folder))
        self.assertEqual(pod["terminationGracePeriodSeconds"], 115)
        amounts = pod["containers"][0]["resources"]["limits"]
        self.assertEqual((amounts["cpu"], amounts["nvidia.com/gpu"]), (3, 2))
        self.assertGreater(int(amounts["memory"].removesuffix("Mi")) * 0.9, 9 * 1024 - 1)
        self.assertIn(f"\n#   {script}\n", text)

    def test_the_data_of_the_native_worker_are_named(self):
        data = self.folder / "data"
        data.mkdir()
        (data / "x.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
        native = """\
study: native
objective: {{metric: val_loss, direction: minimize}}
space: {{lr: {{type: float, low: 0.001, high: 0.1}}}}
worker:
  data: {data}
  model: {{type: mlp}}
budget: {{trials: 1, epochs: 1}}
"""
        more = ["--cpus", "1", "--memory", "1Gi", "--volume"]
        self.study(native.format(data="{format: csv, path: data/x.csv, target: y}"))
        self.assertIn(f"\n#   {data}/x.csv\n", self.export(*more, f"work:{self.folder}/runs"))
        self.assertNotIn("x.csv", self.export(*more, f"work:{self.folder}"))
        self.study(native.format(data="{format: idx, path: fashion-mnist}"))
        self.assert_mentions(self.export(*more, f"work:{self.folder}"), "data", "set fashion-mnist")

    def test_what_is_missing_or_wrong_is_told_with_the_cure(self):
        self.write()
        here = ["--volume", self.folder]
        amounts = ["--cpus", "4", "--memory", "16Gi"]
        self.hpo("export", "study.yaml", "--to", "kubernetes", "-", status=2)
        self.assert_mentions(self.error, "--image", "kubernetes")
        self.export(*amounts, status=2)
        self.assert_mentions(self.error, f"{self.folder}/runs/several", "--volume", f"CLAIM:{self.folder}/runs")
        self.export(*amounts, "--volume", f"work:{self.folder}/other", status=2)
        self.assert_mentions(self.error, f"{self.folder}/runs/several", "--volume")
        self.export(*here, "--memory", "16Gi", status=2)
        self.assert_mentions(self.error, "--cpus", "resources.trial.cores")
        self.export(*here, "--cpus", "4", status=2)
        self.assert_mentions(self.error, "--memory", "resources.trial.memory")
        for wrong in ("Work:/x", "work", "work:x", ":/x", "a:/b:/c", ""):
            self.export(*amounts, *here, "--volume", wrong, status=2)
            self.assert_mentions(self.error, f"--volume {wrong}".strip())
        for wrong in ("16GiB", "16", "Gi", ""):
            self.export(*here, "--cpus", "4", "--memory", wrong, status=2)
            self.assert_mentions(self.error, "--memory")
        self.hpo("export", "study.yaml", "--to", "csv", "-", "--agents", "3", status=2)
        self.assert_mentions(self.error, "--agents", "--to kubernetes", "csv")


class Kubelet(KubernetesCase):
    """Runs what the manifest says: folders of the test are the mounts, and the pod sees no other variables."""
    seconds = 50

    def start_pod(self, pod):
        root = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        [container] = pod["containers"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        [script] = container["command"][2:]
        environment = {item["name"]: item["value"] for item in container["env"]}
        mounted = {}
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            if "secret" in volume:  # kubectl create secret generic NAME --from-file=join.json=...
                (root / "join").mkdir()
                secret = root / "join/join.json"
                shutil.copy(self.join_file(), secret)
                secret.chmod(volume["secret"]["defaultMode"])
                if os.geteuid() == 0:
                    os.chown(secret, 65534, os.getegid())
            elif "emptyDir" in volume:
                (root / mount["name"]).mkdir()
            else:
                self.assertEqual(mount["mountPath"], str(self.folder))
                continue
            mounted[mount["mountPath"]] = str(root / mount["name"])
        paths = re.compile("|".join(map(re.escape, mounted)))
        script, *values = (paths.sub(lambda found: mounted[found[0]], text) for text in (script, *environment.values()))
        environment = dict(zip(environment, values))
        environment |= {"PATH": f"{pathlib.Path(HPO).parent}:/usr/bin:/bin"}
        environment |= {name: value for name, value in os.environ.items() if name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS")}
        child = subprocess.Popen([*container["command"][:2], script], cwd="/", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL, text=True, start_new_session=True)
        self.children.append(child)
        return child

    def job(self):
        return self.manifest("--volume", f"work:{self.folder}", "--cpus", "2", "--memory", "4Gi")

    def test_a_study_ends_with_the_pods_that_the_job_starts(self):
        self.write(trials=4)
        child = self.listen()
        pods = [self.start_pod(self.job()["spec"]["template"]["spec"]) for _ in range(2)]
        self.ended(child)
        for pod in pods:
            self.ended(pod)  # with 0, by which the Job is complete
        self.assert_all_complete(4)
        self.assert_nobody_left()

    def test_an_evicted_or_killed_pod_costs_nothing_once_another_has_joined(self):
        self.write(trials=4, epochs=400)
        child = self.listen()
        job = self.job()
        pod, [_, ignored] = job["spec"]["template"]["spec"], job["spec"]["podFailurePolicy"]["rules"]
        first = self.start_pod(pod)
        wait_for(self.at_work)
        first.send_signal(signal.SIGTERM)
        told = first.communicate(timeout=pod["terminationGracePeriodSeconds"])
        self.assertIn(first.returncode, ignored["onExitCodes"]["values"], told)
        second = self.start_pod(pod)
        wait_for(self.at_work)
        os.killpg(second.pid, signal.SIGKILL)  # after the grace, and then nothing of the container lives
        second.communicate()
        third = self.start_pod(pod)
        self.ended(child)
        self.ended(third)
        trials = self.assert_all_complete(4)
        self.assertTrue(any(trial["attempt"] > 1 for trial in trials))
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
