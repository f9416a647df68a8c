"""Returns every packet-in over mutual TLS, with p4runtime-shell.

    p4runtime_shell_tls.py HOST:PORT DEVICE_ID AUTHORITY CERTIFICATE KEY
"""
import sys
from pathlib import Path

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import SSLOptions

ROOT = Path(__file__).resolve().parents[2]
P4INFO, PROGRAM = ROOT / "programs/l2.p4info.txtpb", ROOT / "programs/l2.p4"
address, device_id, authority, certificate, key = sys.argv[1:]
files = sh.FwdPipeConfig(str(P4INFO), str(PROGRAM))
tls = SSLOptions(False, authority, certificate, key)
sh.setup(int(device_id), address, election_id=(0, 1), config=files, ssl_options=tls, verbose=False)
while packet := sh.client.get_stream_packet("packet", timeout=None):
    metadata = {one.metadata_id: int.from_bytes(one.value, "big") for one in packet.packet.metadata}
    sh.PacketOut(packet.packet.payload, egress_port=str(metadata[1])).send()
