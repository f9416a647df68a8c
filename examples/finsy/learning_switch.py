"""A learning switch over P4Runtime with finsy: python learning_switch.py SWITCHES

SWITCHES is a file with a line "device-id host:port" for each switch, as --list-file writes it.
"""
import sys
from pathlib import Path
import finsy as fy

ROOT = Path(__file__).resolve().parents[2]
P4INFO, PROGRAM = ROOT / "programs/l2.p4info.txtpb", ROOT / "programs/l2.p4"
# Of the program: the port that stands for all others, and the group behind it.
FLOOD_PORT, FLOOD_GROUP = 508, 1


async def ready(switch: fy.Switch):
    await switch.delete_all()
    everywhere = [port.id for port in switch.ports]
    await switch.insert([fy.P4MulticastGroupEntry(FLOOD_GROUP, replicas=everywhere)])
    unknown = fy.Action("send_to_cpu")
    await switch.modify([fy.P4TableEntry("l2", action=unknown, is_default_action=True)])
    ports, rules = {}, set()
    async for packet in switch.read_packets():
        destination, source = packet.payload[:6], packet.payload[6:12]
        ports[source] = packet["ingress_port"]
        port = ports.get(destination)
        if port and (source, destination) not in rules:
            match = fy.Match(eth_src=int.from_bytes(source), eth_dst=int.from_bytes(destination))
            action = fy.Action("set_egress_port", port=port)
            await switch.insert([fy.P4TableEntry("l2", match=match, action=action, priority=1)])
            rules.add((source, destination))
            print("rule", switch.name, destination.hex(), port)
        # No packet leaves by the port that it came in by.
        out = {"egress_port": port or FLOOD_PORT, "ingress_port": packet["ingress_port"], "_pad": 0}
        await switch.write([fy.P4PacketOut(packet.payload, **out)])


def switches():
    options = fy.SwitchOptions(P4INFO, PROGRAM, ready_handler=ready)
    for line in Path(sys.argv[1]).read_text().splitlines():
        device_id, address = line.split()
        yield fy.Switch(f"s{device_id}", address, options(device_id=int(device_id)))


if __name__ == "__main__":
    fy.run(fy.Controller(list(switches())).run())
