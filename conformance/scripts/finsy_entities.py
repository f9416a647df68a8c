"""Every kind of entity, written to an emulated switch and read back, with finsy.

    finsy_entities.py HOST:PORT DEVICE_ID

Answers packet-ins all the while. What finsy reads must equal what it wrote; else it ends with an
error. At the end it prints how many table entries it installed and removed, and how many updates
were refused.
"""
import asyncio
import json
import sys
import tempfile
from pathlib import Path

import finsy as fy
from finsy.p4entity import P4ValueSetMember

P4INFO = Path(__file__).resolve().parents[1] / "pipelines/entities.p4info.txtpb"
tally = {"installed": 0, "removed": 0, "refused": 0}


async def main():
    device_config = Path(tempfile.mkstemp()[1])
    device_config.write_bytes(b"any device configuration")
    options = fy.SwitchOptions(P4INFO, device_config, device_id=int(sys.argv[2]))
    async with fy.Switch("s", sys.argv[1], options) as switch:
        assert switch.is_primary, "finsy is the only controller"
        found = [(port.id, port.name, port.up) for port in switch.ports]
        assert found == [(n, f"s{sys.argv[2]}-eth{n}", True) for n in range(1, 5)], found
        traffic = asyncio.Event()
        switch.create_task(answer(switch, traffic))
        await traffic.wait()
        await pipeline(switch)
        await tables(switch)
        await refusals(switch)
        await profiles(switch)
        await replication(switch)
        await resources(switch)
        await clear(switch)
        print("done", json.dumps(tally), flush=True)
        # The switch goes on with its packet-ins.
        await asyncio.sleep(120)


async def answer(switch, traffic):
    async for packet in switch.read_packets():
        if packet.payload[12:14] == b"\x08\x00":
            traffic.set()
        out = {"egress_port": packet["ingress_port"], "padding": 0}
        await switch.write([fy.P4PacketOut(packet.payload, **out)])


async def pipeline(switch):
    """What another client finds as the pipeline is what this one pushed."""
    other = fy.SwitchOptions(device_id=switch.device_id, initial_election_id=3)
    async with fy.Switch("observer", sys.argv[1], other) as observer:
        assert not observer.is_primary
        assert observer.p4info.has_p4info(switch.p4info.p4info), "the P4Info comes back"


async def tables(switch):
    exact = fy.P4TableEntry(
        "exact",
        match=fy.Match(port=3, address=0x0000_5E00_5301),
        action=fy.Action("forward", port=5),
        metadata=b"cookie",
        idle_timeout_ns=5_000_000_000,
    )
    acl = fy.P4TableEntry(
        "acl",
        match=fy.Match(source="192.0.2.0/24", dport=(80, 443), protocol=6),
        action=fy.Action("forward", port=2),
        priority=10,
    )
    # The same match with another priority is another entry.
    wide = fy.P4TableEntry(
        "acl", match=fy.Match(source="192.0.2.0/24"), action=fy.Action("drop"), priority=9
    )
    routes = [
        fy.P4TableEntry(
            "routes",
            match=fy.Match(destination=f"198.51.{n}.0/24"),
            action=fy.Action("forward", port=n + 1),
        )
        for n in range(100)
    ]
    await install(switch.insert, switch, [exact, acl, wide, *routes])
    assert sorted_by_encoding(switch, await read(switch, fy.P4TableEntry("routes"))) == (
        sorted_by_encoding(switch, routes)
    )
    [found] = await read(switch, fy.P4TableEntry("exact"))
    assert (found.match, found.action, found.metadata) == (exact.match, exact.action, b"cookie")
    assert found.idle_timeout_ns == exact.idle_timeout_ns
    found = await read(switch, fy.P4TableEntry("acl"))
    assert sorted_by_encoding(switch, found) == sorted_by_encoding(switch, [acl, wide]), found

    exact.action = fy.Action("drop")
    await install(switch.modify, switch, [exact])
    [found] = await read(switch, fy.P4TableEntry("exact", match=exact.match))
    assert found.action == exact.action, found

    # A default entry exists from the start, and may be changed where it is not constant.
    default = fy.P4TableEntry("acl", is_default_action=True)
    [found] = await read(switch, default)
    assert found.is_default_action and found.action is None, found
    default.action = fy.Action("forward", port=9)
    await install(switch.modify, switch, [default])
    [found] = await read(switch, fy.P4TableEntry("acl", is_default_action=True))
    assert found.action == default.action, found

    await switch.delete(routes[50:])
    tally["removed"] += 50
    assert len(await read(switch, fy.P4TableEntry("routes"))) == 50
    # A wildcard reads all tables, without their default entries.
    assert len(await read(switch, fy.P4TableEntry())) == 53


async def refusals(switch):
    """The codes that the specification names arrive in finsy, each with its update."""
    code = fy.GRPCStatusCode

    def exact(port):
        match = fy.Match(port=port, address=1)
        return fy.P4TableEntry("exact", match=match, action=fy.Action("drop"))

    def route(network):
        match = fy.Match(destination=network)
        return fy.P4TableEntry("routes", match=match, action=fy.Action("drop"))

    unranked = fy.P4TableEntry("acl", match=fy.Match(protocol=1), action=fy.Action("drop"))
    constant = fy.P4TableEntry("routes", is_default_action=True, action=fy.Action("drop"))
    known, unknown = "198.51.0.0/24", "203.0.113.0/24"
    await refused(switch, [+route(known)], {0: code.ALREADY_EXISTS})
    await refused(switch, [-route(unknown)], {0: code.NOT_FOUND})
    await refused(switch, [~route(unknown)], {0: code.NOT_FOUND})
    await refused(switch, [+unranked], {0: code.INVALID_ARGUMENT})
    await refused(switch, [~constant], {0: code.PERMISSION_DENIED})
    # Those around a refused update are done. The table holds three entries.
    await refused(
        switch,
        [+exact(1), +route(known), +exact(2), +exact(4)],
        {1: code.ALREADY_EXISTS, 3: code.RESOURCE_EXHAUSTED},
    )
    tally["installed"] += 2
    assert len(await read(switch, fy.P4TableEntry("exact"))) == 3


async def refused(switch, updates, expected):
    try:
        await switch.write(updates)
    except fy.P4ClientError as error:
        found = {index: detail.canonical_code for index, detail in error.details.items()}
        assert error.code == fy.GRPCStatusCode.UNKNOWN and found == expected, (found, expected)
        tally["refused"] += len(expected)
    else:
        raise AssertionError(f"{updates} was accepted")


async def profiles(switch):
    members = [
        fy.P4ActionProfileMember(
            "next_hops", member_id=n, action=fy.Action("forward", port=n)
        )
        for n in (1, 2, 3)
    ]
    group = fy.P4ActionProfileGroup(
        "next_hops",
        group_id=7,
        max_size=4,
        members=[fy.P4Member(1, weight=1), fy.P4Member(2, weight=2)],
    )
    await switch.insert(members)
    await switch.insert([group])
    assert await read(switch, fy.P4ActionProfileMember("next_hops")) == members
    assert await read(switch, fy.P4ActionProfileGroup("next_hops")) == [group]
    group.members = [fy.P4Member(3, weight=1)]
    await switch.modify([group])
    assert await read(switch, fy.P4ActionProfileGroup("next_hops")) == [group]

    entries = [
        fy.P4TableEntry("balanced", match=fy.Match(key=1), action=fy.IndirectAction(group_id=7)),
        fy.P4TableEntry("balanced", match=fy.Match(key=2), action=fy.IndirectAction(member_id=1)),
    ]
    await install(switch.insert, switch, entries)
    found = await read(switch, fy.P4TableEntry("balanced"))
    assert sorted_by_encoding(switch, found) == sorted_by_encoding(switch, entries), found


async def replication(switch):
    group = fy.P4MulticastGroupEntry(5, replicas=[1, 2, (3, 1)])
    session = fy.P4CloneSessionEntry(100, replicas=[(4, 1)], packet_length_bytes=64)
    await switch.insert([group, session])
    [found] = await read(switch, fy.P4MulticastGroupEntry())
    assert found.replicas_str() == group.replicas_str(), found
    [found] = await read(switch, fy.P4CloneSessionEntry())
    assert found.replicas_str() == session.replicas_str(), found
    assert found.packet_length_bytes == 64, found


async def resources(switch):
    count = fy.P4CounterData(byte_count=1500, packet_count=3)
    police = fy.P4MeterConfig(cir=10, cburst=20, pir=30, pburst=40)
    entry = fy.P4TableEntry("exact", match=fy.Match(port=1, address=1))
    await switch.modify(
        [
            fy.P4CounterEntry("hits", index=1, data=count),
            fy.P4MeterEntry("police", index=0, config=police),
            fy.P4DirectCounterEntry("exact_counter", table_entry=entry, data=count),
            fy.P4DirectMeterEntry(table_entry=entry, config=police),
            fy.P4RegisterEntry("words", index=2, data=0xDEADBEEF),
            fy.P4ValueSetEntry("types", members=[P4ValueSetMember(type=0x88CC)]),
        ]
    )
    found = await read(switch, fy.P4CounterEntry("hits"))
    assert [(one.index, one.packet_count) for one in found] == [(0, 0), (1, 3), (2, 0)], found
    assert found[1].data == count, found
    [found] = await read(switch, fy.P4MeterEntry("police", index=0))
    assert found.config == police, found
    [found] = await read(switch, fy.P4DirectCounterEntry("exact_counter", table_entry=entry))
    assert found.data == count, found
    [found] = await read(switch, fy.P4DirectMeterEntry(table_entry=entry))
    assert found.config == police, found
    [found] = await read(switch, fy.P4RegisterEntry("words", index=2))
    assert found.data == 0xDEADBEEF, found
    [found] = await read(switch, fy.P4ValueSetEntry("types", members=[]))
    assert found.members == [P4ValueSetMember(type=0x88CC)], found

    digest = fy.P4DigestEntry("learn_t", max_list_size=10, max_timeout_ns=1000, ack_timeout_ns=5)
    await switch.insert([digest])
    assert await read(switch, fy.P4DigestEntry("learn_t")) == [digest]


async def clear(switch):
    """What finsy does to a switch that it meets anew."""
    tally["removed"] += len(await read(switch, fy.P4TableEntry()))
    await switch.delete_all()
    tally["installed"] += sum(
        table.const_default_action is None and table.action_profile is None
        for table in switch.p4info.tables
    )
    for wildcard in [
        fy.P4TableEntry(),
        fy.P4ActionProfileMember(),
        fy.P4ActionProfileGroup(),
        fy.P4MulticastGroupEntry(),
        fy.P4CloneSessionEntry(),
        fy.P4DigestEntry("learn_t"),
    ]:
        found = await read(switch, wildcard)
        assert found == [], found
    [found] = await read(switch, fy.P4TableEntry("acl", is_default_action=True))
    assert found.action is None, found


async def install(write, switch, entries):
    await write(entries)
    tally["installed"] += len(entries)


async def read(switch, entity):
    return [found async for found in switch.read(entity)]


def sorted_by_encoding(switch, entries):
    encoded = [entry.encode(switch.p4info) for entry in entries]
    return sorted(entry.SerializeToString(deterministic=True) for entry in encoded)


fy.run(main())
