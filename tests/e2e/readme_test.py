"""What the README shows is true: its commands run, its study is sound, its links lead somewhere; and so are the ready studies."""
import os
import re
import subprocess
import unittest

from harness import BUILD, SOURCE, Case

README = (SOURCE / "README.md").read_text()


class Readme(Case):
    def test_its_commands_run_in_their_order(self):
        block = re.search(r"<!-- tested[^\n]*\n```console\n(.*?)```", README, re.S).group(1)
        commands = [line[2:].split("   ")[0] for line in block.splitlines() if line.startswith("$ ")]
        self.assertGreater(len(commands), 5)
        os.symlink(SOURCE / "studies", self.folder / "studies")
        path = f"{BUILD / 'bin'}:{os.environ['PATH']}"
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, env={**os.environ, "PATH": path},
                                  capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        self.assertIn("worker:", (self.folder / "best.yaml").read_text())
        self.assertGreater((self.folder / "model.safetensors").stat().st_size, 1000)
        self.assertEqual(len(self.trials("debug")), 16)

    def test_its_study_is_sound(self):
        self.hpo("check", self.study(re.search(r"```yaml\n(.*?)```", README, re.S).group(1)))

    def test_its_error_message_is_the_one_that_is_printed(self):
        block = re.search(r"the\nplace and the cure:\n\n```\n(.*?)```", README, re.S).group(1).strip()
        study = (SOURCE / "studies" / "phase1.yaml").read_text().replace("weight_decay:    {", "weigth_decay:    {")
        (self.folder / "studies").mkdir()
        self.study(study, "studies/mine.yaml")
        self.hpo("check", "studies/mine.yaml", status=1)
        for line in block.splitlines():
            self.assertIn(line.strip(), self.error)

    def test_its_links_lead_somewhere(self):
        for target in re.findall(r"\]\(([^)#]+)\)", README):
            self.assertTrue((SOURCE / target).exists(), target)


class ReadyStudies(Case):
    def test_each_is_sound_on_this_machine(self):
        (self.folder / "worker").symlink_to(SOURCE / "worker")  # they name scripts as from the project's folder
        for study in sorted((SOURCE / "studies").glob("*.yaml")):
            out = self.hpo("check", study)
            self.assertIn("at once", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
