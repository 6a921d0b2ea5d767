"""A SLURM of one node on this machine, for as long as a test runs."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sinfo", "squeue", "sbatch", "scancel", "srun")

CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
MinJobAge=7200
KillWait=1
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
SlurmctldPort={port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=32 RealMemory=16000 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
# Devices that are there on any Linux stand in for two cards.
GRES = "AutoDetect=off\nName=gpu File=/dev/null\nName=gpu File=/dev/zero\n"


def missing():
    """Programs of SLURM that are not installed, and whether this user may run it."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if os.geteuid():
        absent.append("root")
    return absent


def free_port():
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(folder):
    """Start the controller and the node in the foreground; yields the environment for clients.

    Parameters
    ----------
    folder : pathlib.Path
        For configuration, state and logs.

    Raises
    ------
    RuntimeError
        If the node is not idle within half a minute.
    """
    folder = Path(folder)
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir(parents=True)
    conf = folder / "slurm.conf"
    ports = {"port": free_port(), "node_port": free_port()}
    conf.write_text(
        CONF.format(host=socket.gethostname().split(".")[0], folder=folder, **ports),
        encoding="utf-8",
    )
    (folder / "gres.conf").write_text(GRES, encoding="utf-8")
    # Within a job the plugin strips SLURM_CONF from the environment of its own srun.
    shim = folder / "bin" / "srun"
    shim.write_text(
        f'#!/bin/sh\nSLURM_CONF={conf} exec {shutil.which("srun")} "$@"\n', encoding="utf-8"
    )
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    environment = os.environ | {"SLURM_CONF": str(conf)}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    daemons = []
    try:
        for name in ("slurmctld", "slurmd"):
            with (folder / f"{name}.out").open("w", encoding="utf-8") as log:
                daemons.append(
                    subprocess.Popen(
                        [shutil.which(name), "-D", "-c", "-f", str(conf)],
                        env=environment,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                    )
                )
        for _ in range(60):
            if client(environment, "sinfo", "-h", "-o", "%T") == "idle":
                break
            time.sleep(0.5)
        else:
            raise RuntimeError(f"the SLURM node does not become idle; logs are in {folder}")
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            daemon.kill()


def client(environment, *command):
    """Output of a client of SLURM, without the line break."""
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=30, encoding="utf-8"
    )
    return done.stdout.strip()
