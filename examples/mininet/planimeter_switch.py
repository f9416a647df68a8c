"""A Mininet switch that runs a P4 program with `planimeter switch`.

    from planimeter_switch import PlanimeterSwitch
    net = Mininet(topo=topo, switch=PlanimeterSwitch, controller=None)

or, for one switch: topo.addSwitch("s1", cls=PlanimeterSwitch, program="router.p4",
runtime_json="s1-runtime.json", cli_input="s1-commands.txt"): commands of simple_switch_CLI run once
the switch listens. Without a program the switch waits for a controller. Where the
command is not on the search path, the environment variable PLANIMETER names it.
"""
import os
import shutil
import subprocess
import time

from mininet.log import info
from mininet.node import Switch

START_TIMEOUT = 30


class PlanimeterSwitch(Switch):
    """Device ids count from 0 and gRPC ports from 50051, as in the p4lang tutorials."""

    next_device_id = 0
    first_grpc_port = 50051

    def __init__(
        self,
        name,
        program=None,
        runtime_json=None,
        cli_input=None,
        device_id=None,
        grpc_port=None,
        cpu_port=None,
        log_file=None,
        pcap_dir=None,
        arguments=(),
        **options,
    ):
        super().__init__(name, **options)
        cls = PlanimeterSwitch
        self.device_id = cls.next_device_id if device_id is None else device_id
        cls.next_device_id = max(cls.next_device_id, self.device_id) + 1
        self.grpc_port = grpc_port or cls.first_grpc_port + self.device_id
        self.program, self.runtime_json, self.cpu_port = program, runtime_json, cpu_port
        self.log_file, self.pcap_dir = log_file or f"{name}.log", pcap_dir
        self.arguments, self.cli_input = list(arguments), cli_input
        self.process = None

    def command(self):
        """What is run."""
        command = [os.environ.get("PLANIMETER", "planimeter"), "switch"]
        for port, interface in sorted(self.intfs.items()):
            if interface.name != "lo":
                command += ["-i", f"{port}@{interface.name}"]
        command += ["--device-id", str(self.device_id)]
        command += ["--grpc-server-addr", f"0.0.0.0:{self.grpc_port}"]
        command += ["--p4", self.program] if self.program else []
        command += ["--runtime-json", self.runtime_json] if self.runtime_json else []
        command += ["--no-p4"] if not self.program and not self.runtime_json else []
        command += ["--cpu-port", str(self.cpu_port)] if self.cpu_port else []
        command += [f"--pcap={self.pcap_dir}"] if self.pcap_dir else []
        return command + self.arguments

    def start(self, controllers):
        """Returns when the switch forwards."""
        if shutil.which(self.command()[0]) is None:
            name = self.command()[0]
            raise RuntimeError(f"there is no {name}: the environment variable PLANIMETER says where it is")
        info(" ".join(self.command()) + "\n")
        with open(self.log_file, "w") as log:
            self.process = self.popen(self.command(), stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_TIMEOUT
        while "listening on" not in self.said():
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = self.said().strip() or f"it printed nothing for {START_TIMEOUT} s"
                raise RuntimeError(f"{self.name} did not start: {said}")
            time.sleep(0.05)
        if self.cli_input:
            self.run_commands()

    def run_commands(self):
        """Runs the file of simple_switch_CLI commands over P4Runtime."""
        command = [os.environ.get("PLANIMETER", "planimeter"), "ctl", f"127.0.0.1:{self.grpc_port}"]
        command += ["--device-id", str(self.device_id), "--file", self.cli_input]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            raise RuntimeError(f"{self.name} did not start: {ran.stderr.strip()}")

    def stop(self, deleteIntfs=True):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
            self.process = None
        super().stop(deleteIntfs)

    def said(self):
        """Its log so far."""
        with open(self.log_file) as log:
            return log.read()
