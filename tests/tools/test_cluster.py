# SPDX-License-Identifier: Apache-2.0
"""tools/cluster on what clusters have: Slurm's daemons, MPI, ReFrame; skipped where they are not installed.

Four nodes, which are names of this host, burn in model devices; one of them has 3 % less DRAM bandwidth.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import made_up
import pytest
from pages import built

pytestmark = pytest.mark.slow

CLUSTER = made_up.REPOSITORY / "tools" / "cluster"
FEW = "--preset quick --experiment shared_memory,latency_hiding"
SLURM = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scontrol", "squeue")
SOON_S = 300
# Node n3 stops when its first rows are there, once: the test then ends it.
PROGRAM = """#!/bin/sh
word=$1; shift
if [ "$word" = fleet ]; then exec '{python}' -P -m occbench_fleet "$@"; fi
model={folder}/h200.json
task=$SLURMD_NODENAME$NODE_NAME$OMPI_COMM_WORLD_LOCAL_RANK$PMI_RANK
[ "$task" != "$SLOW" ] || model={folder}/slow.json
if [ "$SLURMD_NODENAME" = n3 ] && mkdir '{folder}/begun' 2>/dev/null; then
  '{occbench}' "$word" --device model:$model "$@" &
  while [ $(cat '{folder}'/fleet/n3/*/cases.csv 2>/dev/null | wc -l) -lt 20 ]; do sleep 0.02; done
  kill -STOP $!
  touch '{folder}/stopped'
  wait
fi
exec '{occbench}' "$word" --device model:$model "$@"
"""


def needs(*programs: str) -> None:
    if lacking := [name for name in programs if not shutil.which(name)]:
        pytest.skip(f"not installed: {', '.join(lacking)}")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name, as sockets need, and in it `occbench`, which takes models for GPUs."""
    if not (occbench := built()):
        pytest.skip("no occbench is built here")
    with tempfile.TemporaryDirectory(prefix="occbench-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        parameters = (made_up.REPOSITORY / "harness/parameters/h200.json").read_text()
        (home / "h200.json").write_text(parameters)
        slow = json.loads(parameters)
        for parameter, told in slow["parameters"].items():
            if parameter.startswith("dram") and parameter.endswith("bandwidth"):
                told |= {name: 0.97 * told[name] for name in ("value", "low", "high") if name in told}
        (home / "slow.json").write_text(json.dumps(slow))
        program = PROGRAM.format(python=sys.executable, folder=home, occbench=occbench.resolve())
        (home / "occbench").write_text(program)
        (home / "occbench").chmod(0o755)
        monkeypatch.setenv("OCCBENCH", str(home / "occbench"))
        monkeypatch.setenv("SLOW", "nobody")
        monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin")  # where daemons are
        monkeypatch.setenv("PYTHONPATH", str(made_up.REPOSITORY / "tools"))
        for variable in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"):
            monkeypatch.delenv(variable, raising=False)
        yield home


def call(*words: object, cwd: Path) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=SOON_S, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def checked(folder: Path, *words: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "occbench_fleet", "check", folder, "--format", "json", *words],
        capture_output=True, text=True, timeout=SOON_S,
    )  # fmt: skip
    assert done.returncode in (0, 1) and done.stderr == "", done.stderr
    found = json.loads(done.stdout)
    assert found["passed"] == (done.returncode == 0)
    return found


def odd(found: dict) -> set[tuple[str, str]]:
    return {(one["name"], one["resource"]) for one in found["odd"] if one["kind"] == "card"}


def soon(what: str, holds: Callable[[], object]) -> None:
    end = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < end, f"not within {SOON_S} s: {what}"
        time.sleep(0.1)


MPI_WORDS = {"mpirun.openmpi": ["--oversubscribe", "--allow-run-as-root"], "mpirun.mpich": []}


@pytest.mark.parametrize("mpirun", MPI_WORDS)
def test_mpi(mpirun: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(mpirun)
    monkeypatch.setenv("SLOW", "2")
    words = ["run", *FEW.split(), "--task-device", "auto", "--output", "fleet"]
    call(mpirun, *MPI_WORDS[mpirun], "-n", "4", home / "occbench", *words, cwd=home)
    found = checked(home / "fleet")
    assert found["judged"] == 4
    ((name, resource),) = odd(found)
    assert name.endswith("/model-h200-2") and resource == "DRAM"


class Slurm:
    """Its daemons, in a folder, with four nodes of two GPUs each."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.host = os.uname().nodename
        (home / "munge.key").write_bytes(os.urandom(1024))
        (home / "munge.key").chmod(0o400)
        for name in ("state", *(f"spool/n{i}" for i in range(4))):
            (home / name).mkdir(parents=True)
        first = 20000 + os.getpid() % 10000
        nodes = "".join(
            f"NodeName=n{i} NodeHostname={self.host} NodeAddr=127.0.0.1 Port={first + 1 + i} CPUs=4"
            f" RealMemory=100 Gres=gpu:2 State=UNKNOWN\n" for i in range(4)
        )  # fmt: skip
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        (home / "slurm.conf").write_text(
            f"ClusterName=test\nSlurmctldHost={self.host}(127.0.0.1)\nSlurmctldPort={first}\n"
            f"AuthType=auth/munge\nAuthInfo=socket={home}/munge.socket\nCredType=cred/munge\n"
            f"SlurmUser={user}\nSlurmdUser={user}\nStateSaveLocation={home}/state\n"
            f"SlurmdSpoolDir={home}/spool/%n\nSlurmctldPidFile={home}/slurmctld.pid\n"
            f"SlurmdPidFile={home}/slurmd.%n.pid\nSlurmctldLogFile={home}/slurmctld.log\n"
            f"SlurmdLogFile={home}/slurmd.%n.log\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n"
            "SwitchType=switch/none\nMpiDefault=none\nReturnToService=2\nSelectType=select/cons_tres\n"
            "GresTypes=gpu\nJobRequeue=1\nKillWait=2\n"
            "SlurmdParameters=config_overrides\n"  # the nodes have more CPUs than a small machine
            "SchedulerParameters=batch_sched_delay=0,sched_min_interval=1\n"
            f"{nodes}PartitionName=all Nodes=n[0-3] Default=YES MaxTime=20 State=UP\n"
        )
        # Devices that every host has: nothing opens them.
        if not any(Path("/sys/fs/cgroup").glob("*")):  # a container; Slurm of Debian 13 wants to be told
            (home / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        (home / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")
        os.environ["SLURM_CONF"] = str(home / "slurm.conf")
        call(
            "munged", "--force", f"--socket={home}/munge.socket", f"--key-file={home}/munge.key",
            f"--pid-file={home}/munged.pid", f"--log-file={home}/munged.log", f"--seed-file={home}/seed",
            cwd=home,
        )  # fmt: skip
        call("slurmctld", "-c", cwd=home)
        for i in range(4):
            self.start(f"n{i}")
        soon(
            "four idle nodes",
            lambda: call("sinfo", "-hN", "-t", "idle", "-o", "%N", cwd=home).count("\n") == 4,
        )

    def start(self, node: str) -> None:
        call("slurmd", "-N", node, cwd=self.home)

    def jobs(self, *words: str) -> list[str]:
        return call("squeue", "-h", "-o", "%A", *words, cwd=self.home).split()

    def on(self, node: str) -> list[int]:
        """The processes of the node's jobs, and their keepers."""
        conf = f"SLURM_CONF={self.home}/slurm.conf".encode()
        keepers, jobs, found = {}, set(), []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (process / "cmdline").read_bytes()
                variables = (process / "environ").read_bytes().split(b"\0")
                if not running(int(process.name)) or conf not in variables:
                    continue
                if words.startswith(b"slurmstepd: ["):
                    keepers[int(process.name)] = words[len("slurmstepd: [") :].partition(b".")[0]
                elif f"SLURMD_NODENAME={node}".encode() in variables:
                    found.append(int(process.name))
                    jobs |= {v.partition(b"=")[2] for v in variables if v.startswith(b"SLURM_JOB_ID=")}
        jobs |= {job.encode() for job in self.jobs("-w", node)}
        return [pid for pid, job in keepers.items() if job in jobs] + found

    def kill_node(self, node: str) -> None:
        """As a power cut does: its slurmd first, then the keepers of its jobs, and these."""
        pids = [int((self.home / f"slurmd.{node}.pid").read_text()), *self.on(node)]
        while pids:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.2)
            pids = self.on(node)
        call("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=dead", cwd=self.home)

    def stop(self) -> None:
        pids = []
        for file in self.home.glob("*.pid"):
            with suppress(OSError, ValueError):
                pids.append(int(file.read_text()))
                os.kill(pids[-1], signal.SIGTERM)
        soon("the daemons have ended", lambda: not any(map(running, pids)))
        os.environ.pop("SLURM_CONF", None)


def running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture
def slurm(home: Path) -> Iterator[Slurm]:
    needs(*SLURM)
    daemons = Slurm(home)
    yield daemons
    for job in daemons.jobs():
        call("scancel", job, cwd=home)
    daemons.stop()


def test_slurm(slurm: Slurm, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All folders there, the slow card found, a killed node reported, and the requeued task goes on."""
    monkeypatch.setenv("SLOW", "n2")
    nodes = "host,rack\nn0,r0\nn1,r0\nn2,r1\nn3,r1\n"
    (home / "nodes.csv").write_text(nodes)
    script = CLUSTER / "burn-in.sbatch"
    call("sbatch", "--array=0-3", "--cpus-per-task=4", script, home / "fleet", *FEW.split(), cwd=home)
    soon("n3 has begun", (home / "stopped").exists)
    (job,) = slurm.jobs("-w", "n3")
    slurm.kill_node("n3")
    soon("the others have ended", lambda: slurm.jobs() == [job])
    found = checked(home / "fleet", "--labels", str(home / "nodes.csv"))
    (line,) = found["failed"]
    assert line.startswith("n3/model-h200-0: ") and "`occbench run --resume" in line
    assert odd(found) == {("n2/model-h200-0", "DRAM")}
    begun = (home / "fleet/n3/model-h200-0/cases.csv").read_text()
    slurm.start("n3")
    soon("n3 is back", lambda: "idle" in call("sinfo", "-h", "-n", "n3", "-o", "%t", cwd=home))
    # Slurm waits two minutes before it starts a requeued job, on any node that is free. It may still send
    # the node the end of the first, which has the same number.
    time.sleep(4)
    call("scontrol", "update", "NodeName=n[0-2]", "State=DRAIN", "Reason=busy", cwd=home)
    task = call("squeue", "-h", "-o", "%i", cwd=home).strip()
    call("scontrol", "update", f"JobId={task}", "StartTime=now", cwd=home)
    soon("the requeued task has ended", lambda: not slurm.jobs())
    ended = (home / "fleet/n3/model-h200-0/cases.csv").read_text()
    logs = [*home.glob("burn-in-*_3.log"), home / "slurmctld.log", home / "slurmd.n3.log"]
    said = "".join(log.read_text()[-4000:] for log in logs)
    assert ended.startswith(begun[: begun.rfind("\n") + 1]) and len(ended) > len(begun), said
    found = checked(home / "fleet", "--labels", str(home / "nodes.csv"))
    assert (found["judged"], found["failed"]) == (4, [])
    assert odd(found) == {("n2/model-h200-0", "DRAM")}
    assert 0.02 < found["odd"][0]["change"] < 0.04


# Root may, and more ranks than cores: the last two are one setting, of Open MPI 4 and of 5.
MPI_AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def reframe(home: Path, stage: str) -> subprocess.CompletedProcess[str]:
    (home / "site.py").write_text(
        "site_configuration = {'systems': [{'name': 'here', 'hostnames': ['.*'], 'partitions': ["
        "{'name': 'all', 'scheduler': 'local', 'launcher': 'mpirun', 'environs': ['builtin']}]}],"
        " 'environments': [{'name': 'builtin'}]}\n"
    )
    words = [Path(sys.executable).with_name("reframe"), "-C", home / "site.py", "--prefix", home / stage]
    words += ["-c", CLUSTER / "burn_in_reframe.py", "-r", "-S", f"FleetBurnIn.words={FEW}", "--nocolor"]
    return subprocess.run(
        list(map(str, words)),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SOON_S,
        env=os.environ | MPI_AS_ROOT,
    )


def test_reframe(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("reframe")
    needs("mpirun.openmpi")
    good = reframe(home, "good")
    assert good.returncode == 0, good.stdout[-3000:]
    assert "Ran 1/1 test case(s) from 1 check(s) (0 failure(s)" in good.stdout
    monkeypatch.setenv("SLOW", "1")
    bad = reframe(home, "bad")
    assert bad.returncode == 1 and "largest_change" in bad.stdout, bad.stdout[-3000:]


def test_kubernetes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pod's container runs, on this host; no cluster has seen the manifest."""
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((CLUSTER / "burn-in.k8s.yaml").read_text())
    assert (job["apiVersion"], job["kind"], job["spec"]["completionMode"]) == ("batch/v1", "Job", "Indexed")
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (path,) = (mount["mountPath"] for mount in container["volumeMounts"])
    names = {variable["name"] for variable in container["env"]}
    assert names == {"NPROC", "WORDS", "NODE_NAME"}
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    (script,) = container["args"]
    for pod, slow in enumerate(("nobody", "k1", "nobody")):
        monkeypatch.setenv("SLOW", slow)
        for name, value in dict(NPROC="2", WORDS=FEW, NODE_NAME=f"k{pod}", JOB_COMPLETION_INDEX=pod).items():
            monkeypatch.setenv(name, str(value))
        call(*container["command"], script.replace(path, str(home / "fleet")), cwd=home)
    found = checked(home / "fleet")
    assert found["judged"] == 6
    assert odd(found) == {("k1/model-h200-0", "DRAM"), ("k1/model-h200-1", "DRAM")}
