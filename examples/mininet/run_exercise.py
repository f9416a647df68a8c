#!/usr/bin/env python3
"""Runs a network of the p4lang tutorials with planimeter in the place of BMv2.

    sudo python3 run_exercise.py -t topology.json [--p4 PROGRAM] [--test]

Reads topology.json and the files for switches that it names (runtime_json, cli_input) as they are; paths in them are
relative to the current folder, as in the tutorials. Takes the flags of the tutorials' own script, so
that `make run RUN_SCRIPT=.../run_exercise.py` works in an exercise.
"""
import argparse
import json
import os
import sys

try:
    from mininet.cli import CLI
    from mininet.link import TCLink
    from mininet.log import setLogLevel
    from mininet.net import Mininet
    from mininet.node import Host
    from mininet.topo import Topo
except ImportError as missing:
    sys.exit(
        f"{missing}: {sys.executable} has no Mininet. Debian's package (apt install mininet) is for /usr/bin/python3:"
        f" /usr/bin/python3 {' '.join(sys.argv)}"
    )
from planimeter_switch import PlanimeterSwitch


class PlainHost(Host):
    """A host whose only interface is eth0. Offloads stay on: the switch completes what they leave."""

    def config(self, **parameters):
        result = super().config(**parameters)
        self.defaultIntf().rename("eth0")
        self.cmd("sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        return result


class ExerciseTopo(Topo):
    def build(self, topology, options):
        for name, given in topology["switches"].items():
            self.addSwitch(
                name,
                cls=PlanimeterSwitch,
                program=given.get("program") or options.p4 or options.switch_json,
                runtime_json=given.get("runtime_json"),
                cli_input=given.get("cli_input"),
                cpu_port=given.get("cpu_port", options.cpu_port),
                log_file=os.path.join(options.log_dir, f"{name}.log"),
                pcap_dir=options.pcap_dir,
            )
        for name, given in topology["hosts"].items():
            self.addHost(name, cls=PlainHost, ip=given["ip"], mac=given.get("mac"))
        # As the tutorials' script orders them, so that interfaces get the same names.
        links = [(sorted(link[:2]), link[2:]) for link in topology["links"]]
        for (one, other), rest in sorted(links, key=lambda link: not link[0][0].startswith("h")):
            quality = {}
            # Nothing is shaped where nothing is asked for: not every kernel can.
            if rest and rest[0] not in (0, "0", "0ms"):
                quality["delay"] = rest[0] if isinstance(rest[0], str) else f"{rest[0]}ms"
            if len(rest) > 1:
                quality["bw"] = rest[1]
            (one, port1), (other, port2) = end_of(one), end_of(other)
            self.addLink(one, other, port1=port1, port2=port2, **quality)


def end_of(text):
    """Node and port of "s1-p2"; a host has no port."""
    node, _, port = text.partition("-")
    return node, int(port[1:]) if port else None


def main():
    options = arguments()
    try:
        with open(options.topo) as file:
            topology = json.load(file)
    except (OSError, ValueError) as wrong:
        sys.exit(f"{options.topo}: {wrong}; -t names the topology.json of the exercise")
    os.makedirs(options.log_dir, exist_ok=True)
    setLogLevel("warning" if options.quiet else "info")
    net = Mininet(topo=ExerciseTopo(topology, options), link=TCLink, controller=None)
    lost = None
    try:
        net.start()
        for name, given in topology["hosts"].items():
            for command in given.get("commands", []):
                net.get(name).cmd(command)
        for switch in net.switches:
            print(f"{switch.name}: device {switch.device_id}, gRPC port {switch.grpc_port}")
        if options.test:
            lost = net.pingAll(timeout="5")
            print(f"lost {lost} %", flush=True)
        else:
            CLI(net)
    except RuntimeError as failed:
        lost = failed
    finally:
        net.stop()
    if isinstance(lost, RuntimeError):
        sys.exit(str(lost))
    sys.exit(1 if lost else 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-t", "--topo", default="topology.json", help="the topology")
    parser.add_argument("--p4", help="P4 source for switches that have no program of their own")
    parser.add_argument("-j", "--switch_json", help="the same, as BMv2 JSON")
    parser.add_argument("-b", "--behavioral-exe", help="has no effect; $PLANIMETER names the command")
    parser.add_argument("-l", "--log-dir", default="logs", help="where switches write their logs")
    parser.add_argument("-p", "--pcap-dir", help="where switches record what passes them")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--cpu-port", type=int, help="for programs that expect another than 255")
    parser.add_argument("--test", action="store_true", help="ping all pairs of hosts, and end")
    return parser.parse_args()


if __name__ == "__main__":
    main()
