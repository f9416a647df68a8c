"""Rules written and read back, and packet-outs, over P4Runtime with p4runtime-shell:

    python rules_and_packets.py HOST:PORT [DEVICE_ID]
"""
import sys
from pathlib import Path

import p4runtime_sh.shell as sh

ROOT = Path(__file__).resolve().parents[2]
P4INFO, PROGRAM = ROOT / "programs/l2.p4info.txtpb", ROOT / "programs/l2.p4"
files = sh.FwdPipeConfig(str(P4INFO), str(PROGRAM))
device_id = int((sys.argv[2:] or ["1"])[0])
sh.setup(device_id, sys.argv[1], election_id=(0, 1), config=files)

rule = sh.TableEntry("l2")(action="set_egress_port", priority=1)
rule.match["eth_dst"] = "02:00:00:00:00:01"
rule.action["port"] = "2"
rule.insert()
sh.TableEntry("l2").read(print)

while packet := sh.client.get_stream_packet("packet", timeout=None):
    metadata = {one.metadata_id: int.from_bytes(one.value, "big") for one in packet.packet.metadata}
    sh.PacketOut(packet.packet.payload, egress_port=str(metadata[1])).send()
