"""Returns every packet-in over mutual TLS, with finsy.

    finsy_tls.py HOST:PORT DEVICE_ID AUTHORITY CERTIFICATE KEY
"""
import sys
from pathlib import Path

import finsy as fy

ROOT = Path(__file__).resolve().parents[2]
P4INFO, PROGRAM = ROOT / "programs/l2.p4info.txtpb", ROOT / "programs/l2.p4"


async def ready(switch):
    async for packet in switch.read_packets():
        out = {"egress_port": packet["ingress_port"], "ingress_port": 0, "_pad": 0}
        await switch.write([fy.P4PacketOut(packet.payload, **out)])


address, device_id, authority, certificate, key = sys.argv[1:]
options = fy.SwitchOptions(
    P4INFO,
    PROGRAM,
    ready_handler=ready,
    device_id=int(device_id),
    channel_credentials=fy.GRPCCredentialsTLS(
        cacert=Path(authority), cert=Path(certificate), private_key=Path(key)
    ),
)
fy.run(fy.Controller([fy.Switch("s", address, options)]).run())
