"""The controller of programs/learning_switch.p4, with finsy: learns stations from digests.

    finsy_learning.py HOST:PORT DEVICE_ID P4INFO PROGRAM NUMBER_OF_PORTS
"""
import asyncio
import sys
from pathlib import Path

import finsy as fy

FLOOD_GROUP = 1


async def main():
    options = fy.SwitchOptions(Path(sys.argv[3]), Path(sys.argv[4]), device_id=int(sys.argv[2]))
    async with fy.Switch("s", sys.argv[1], options) as switch:
        everywhere = list(range(1, int(sys.argv[5]) + 1))
        digests = switch.read_digests("learn_t")
        await switch.write(
            [
                +fy.P4MulticastGroupEntry(FLOOD_GROUP, replicas=everywhere),
                +fy.P4DigestEntry("learn_t", max_list_size=16, ack_timeout_ns=1_000_000_000),
            ]
        )
        print("ready", flush=True)
        known = {}
        async for digest in digests:
            for seen in digest:
                station, port = seen["station"], seen["port"]
                if known.get(station) == port:
                    continue
                write = switch.modify if station in known else switch.insert
                known[station] = port
                await write(
                    [
                        fy.P4TableEntry(
                            "sources",
                            match=fy.Match(source=station),
                            action=fy.Action("at_port", port=port),
                        ),
                        fy.P4TableEntry(
                            "destinations",
                            match=fy.Match(destination=station),
                            action=fy.Action("forward", port=port),
                        ),
                    ]
                )
                print("learned", f"{station:012x}", port, flush=True)
            await switch.write([digest.ack()])


asyncio.run(main())
