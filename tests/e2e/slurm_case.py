"""A real Slurm of three nodes on this machine, for the tests of studies that run on it. It has no authentication, and listens on loopback alone."""
import os
import shutil
import socket
import subprocess
import unittest

from harness import Case, wait_for

SLURM = all(shutil.which(name) for name in ("slurmctld", "slurmd", "sbatch", "srun"))


@unittest.skipUnless(SLURM and os.geteuid() == 0, "there is no Slurm, or the test may not start it")
class SlurmCase(Case):
    CONF = """\
ClusterName=hpotest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,requeue_delay=0
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
# A job that is queued again waits until its credentials expire, two minutes by default.
AuthInfo=cred_expire=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node1} CPUs=2 State=UNKNOWN
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={node2} CPUs=2 State=UNKNOWN
NodeName=node3 NodeHostname={host} NodeAddr=127.0.0.1 Port={node3} CPUs=2 State=UNKNOWN
PartitionName=main Nodes=node[1-3] Default=YES State=UP PriorityTier=10
PartitionName=low Nodes=node[1-3] State=UP PriorityTier=1 GraceTime=1
PartitionName=short Nodes=node[1-3] State=UP MaxTime=1
"""

    def setUp(self):
        super().setUp()
        slurm = self.folder / "slurm"
        (slurm / "state").mkdir(parents=True)
        sockets = [socket.socket() for _ in range(4)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = dict(zip(("port", "node1", "node2", "node3"), (one.getsockname()[1] for one in sockets)))
        for one in sockets:
            one.close()
        conf = slurm / "slurm.conf"
        conf.write_text(self.CONF.format(folder=slurm, host=socket.gethostname().split(".")[0], **ports))
        self.environment = {"SLURM_CONF": str(conf)}
        self.controller = self.begin_daemon("slurmctld")
        for node in ("node1", "node2", "node3"):
            (slurm / "spool" / node).mkdir(parents=True)
            self.begin_daemon("slurmd", "-N", node)
        wait_for(lambda: self.slurm("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "3", message=(slurm / "log").read_text())

    def begin_daemon(self, *words):
        with open(self.folder / "slurm/log", "a") as log:
            self.children.append(subprocess.Popen([*words, "-D", "-f", self.environment["SLURM_CONF"]], stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=log, env={**os.environ, **self.environment}, start_new_session=True))
        return self.children[-1]

    def tearDown(self):
        self.slurm("scancel", "-u", "root")
        wait_for(lambda: not self.slurm("squeue", "-h"))
        super().tearDown()

    def slurm(self, *words):
        return subprocess.run(words, cwd=self.folder, env={**os.environ, **self.environment}, capture_output=True, text=True).stdout
