"""Every kind of entity, written with finsy to a switch that forwards: seen, read back, deleted.

    finsy_effects.py HOST:PORT DEVICE_ID P4INFO PROGRAM INTERFACE...

The interfaces are the far ends of ports 1 to 4. The program is pipelines/everything.p4, in any form
that the switch takes. Whatever is not as it should be ends the script with an error.
"""
import asyncio
import json
import sys
from pathlib import Path

import finsy as fy
import grpc
from everything import ALL_PORTS, OTHER_TYPE, PROBE_TYPE, Hosts, Part, frame, result
from finsy.gnmipath import GNMIPath
from finsy.p4entity import P4ValueSetMember
from finsy.proto import gnmi

PATIENCE = 20
hosts = Hosts(sys.argv[5:])


async def main():
    options = fy.SwitchOptions(Path(sys.argv[3]), Path(sys.argv[4]), device_id=int(sys.argv[2]))
    async with fy.Switch("s", sys.argv[1], options) as switch:
        assert switch.is_primary, "finsy is the only controller"
        everywhere = fy.P4MulticastGroupEntry(ALL_PORTS, replicas=[2, 3, 4])
        await switch.write([+everywhere])
        for check in [
            value_sets,
            exact,
            prefixes,
            ternary,
            ranges,
            optional,
            constant_entries,
            profiles,
            counters,
            meters,
            registers,
            multicast,
            clones,
            packets,
            digests,
            idle,
            ports,
            groups,
            clear,
        ]:
            await check(switch)
            print("checked", check.__name__, flush=True)


async def value_sets(switch):
    """Packets are parsed by the types in the value set."""

    def types(*members):
        return fy.P4ValueSetEntry("types", members=[P4ValueSetMember(value) for value in members])

    await switch.write([types(OTHER_TYPE)])
    assert hosts.ask(Part.COUNTER) == {}
    await switch.write([types(OTHER_TYPE, PROBE_TYPE)])
    assert hosts.ask(Part.COUNTER) == {2: [0xFFFF_FFFF]}
    [found] = await read(switch, fy.P4ValueSetEntry("types", members=[]))
    assert sorted(member.value for member in found.members) == [PROBE_TYPE, OTHER_TYPE], found


async def exact(switch):
    """An entry, with its direct counter and its direct meter."""
    entry = fy.P4TableEntry("exact_table", match=fy.Match(key=7), action=fy.Action("counted", port=3))
    await switch.insert([entry])
    assert hosts.ask(Part.EXACT, 7) == {3: [0]}
    entry.action = fy.Action("counted", port=4)
    await switch.modify([entry])
    assert hosts.ask(Part.EXACT, 7) == {4: [0]}
    [found] = await read(switch, fy.P4TableEntry("exact_table"))
    assert (found.match, found.action) == (entry.match, entry.action), found

    key = fy.P4TableEntry("exact_table", match=fy.Match(key=7))
    [found] = await read(switch, fy.P4DirectCounterEntry("exact_counter", table_entry=key))
    assert found.data == fy.P4CounterData(packet_count=2, byte_count=50), found
    await switch.modify(
        [fy.P4DirectCounterEntry("exact_counter", table_entry=key, data=fy.P4CounterData())]
    )
    hosts.ask(Part.EXACT, 7)
    [found] = await read(switch, fy.P4DirectCounterEntry("exact_counter", table_entry=key))
    assert found.data.packet_count == 1, found

    police = fy.P4MeterConfig(cir=1, cburst=2, pir=1, pburst=4)
    await switch.modify([fy.P4DirectMeterEntry(table_entry=key, config=police)])
    [found] = await read(switch, fy.P4DirectMeterEntry(table_entry=key))
    assert found.config == police, found
    assert_policed(hosts.frames([frame(Part.EXACT, 7)] * 20)[4])
    # Without a configuration nothing is policed.
    await switch.modify([fy.P4DirectMeterEntry(table_entry=key)])
    assert {result(one) for one in hosts.frames([frame(Part.EXACT, 7)] * 20)[4]} == {0}

    others = [
        fy.P4TableEntry("exact_table", match=fy.Match(key=n), action=fy.Action("counted", port=2))
        for n in range(1, 5)
    ]
    await refused(
        switch.insert([entry, *others]), {0: "ALREADY_EXISTS", 4: "RESOURCE_EXHAUSTED"}
    )
    constant = fy.P4TableEntry("exact_table", is_default_action=True, action=fy.Action("ask"))
    await refused(switch.modify([constant]), {0: "PERMISSION_DENIED"})
    await switch.delete([entry, *others[:3]])
    assert hosts.ask(Part.EXACT, 7) == {}
    assert await read(switch, fy.P4TableEntry("exact_table")) == []
    await refused(switch.delete([entry]), {0: "NOT_FOUND"})


def assert_policed(frames):
    """RFC 2698: green while the committed bucket lasts, then yellow, then red."""
    colours = [result(one) for one in frames]
    assert colours[:2] == [0, 0] and {0, 1, 2} == set(colours), colours


async def prefixes(switch):
    routes = [
        fy.P4TableEntry(
            "prefix_table",
            match=fy.Match(key=prefix),
            action=fy.Action("answer", port=port, value=value),
        )
        for prefix, port, value in [
            ("10.0.0.0/8", 2, 8),
            ("10.1.0.0/16", 3, 16),
            ("10.1.2.0/24", 4, 24),
            ("10.1.2.3/32", 2, 32),
        ]
    ]
    await switch.insert(routes)
    for address, expected in [
        (0x0A010203, {2: [32]}),
        (0x0A010204, {4: [24]}),
        (0x0A01FFFF, {3: [16]}),
        (0x0AFF0000, {2: [8]}),
    ]:
        assert hosts.ask(Part.PREFIX, address) == expected, hex(address)
    assert len(await read(switch, fy.P4TableEntry("prefix_table"))) == 4
    await switch.delete(routes[2:])
    assert hosts.ask(Part.PREFIX, 0x0A010203) == {3: [16]}

    default = fy.P4TableEntry(
        "prefix_table", is_default_action=True, action=fy.Action("answer", port=4, value=1)
    )
    await switch.modify([default])
    assert hosts.ask(Part.PREFIX, 0x0B000000) == {4: [1]}
    [found] = await read(switch, fy.P4TableEntry("prefix_table", is_default_action=True))
    assert found.action == default.action, found
    # The one of the program comes back.
    default.action = None
    await switch.modify([default])
    assert hosts.ask(Part.PREFIX, 0x0B000000) == {}
    await switch.delete(routes[:2])


async def ternary(switch):
    def entry(priority, value, **match):
        action = fy.Action("answer", port=2, value=value)
        return fy.P4TableEntry(
            "ternary_table", match=fy.Match(**match), action=action, priority=priority
        )

    low = entry(1, 1, key=(0x0F, 0x0F))
    high = entry(10, 10, key=(0x0F, 0x0F), small=(0x0100, 0xFF00))
    await switch.insert([low, high])
    assert hosts.ask(Part.TERNARY, 0x1F, 0x0101) == {2: [10]}
    assert hosts.ask(Part.TERNARY, 0x1F, 0x0201) == {2: [1]}
    assert hosts.ask(Part.TERNARY, 0x1E, 0x0101) == {}
    found = await read(switch, fy.P4TableEntry("ternary_table"))
    assert sorted(one.priority for one in found) == [1, 10], found
    await switch.delete([high])
    assert hosts.ask(Part.TERNARY, 0x1F, 0x0101) == {2: [1]}
    await switch.delete([low])


async def ranges(switch):
    entry = fy.P4TableEntry(
        "range_table",
        match=fy.Match(small=(80, 90)),
        action=fy.Action("answer", port=3, value=80),
        priority=1,
    )
    await switch.insert([entry])
    for small, expected in [(79, {}), (80, {3: [80]}), (90, {3: [80]}), (91, {})]:
        assert hosts.ask(Part.RANGE, 0, small) == expected, small
    [found] = await read(switch, fy.P4TableEntry("range_table"))
    assert (found.match, found.priority) == (entry.match, 1), found
    await switch.delete([entry])
    assert hosts.ask(Part.RANGE, 0, 85) == {}


async def optional(switch):
    def entry(priority, value, **match):
        action = fy.Action("answer", port=2, value=value)
        return fy.P4TableEntry(
            "optional_table", match=fy.Match(**match), action=action, priority=priority
        )

    some, every = entry(2, 2, key=5, small=1), entry(1, 1, small=1)
    await switch.insert([some, every])
    assert hosts.ask(Part.OPTIONAL, 5, 1) == {2: [2]}
    assert hosts.ask(Part.OPTIONAL, 6, 1) == {2: [1]}
    assert hosts.ask(Part.OPTIONAL, 5, 2) == {}
    assert len(await read(switch, fy.P4TableEntry("optional_table"))) == 2
    await switch.delete([some, every])
    assert hosts.ask(Part.OPTIONAL, 5, 1) == {}


async def constant_entries(switch):
    """What the program itself says stays."""
    action = fy.Action("answer", port=2, value=1)
    own, other = (
        fy.P4TableEntry("fixed_table", match=fy.Match(key=key), action=action) for key in (1, 2)
    )
    assert hosts.ask(Part.FIXED, 1) == {3: [15]}
    [found] = await read(switch, fy.P4TableEntry("fixed_table"))
    assert found.match == own.match and found.is_const, found
    await refused(switch.insert([other]), {0: "PERMISSION_DENIED"})
    await refused(switch.modify([own]), {0: "PERMISSION_DENIED"})
    await refused(switch.delete([own]), {0: "PERMISSION_DENIED"})
    assert hosts.ask(Part.FIXED, 1) == {3: [15]}


async def profiles(switch):
    """A profile without groups: entries share a member."""
    member = fy.P4ActionProfileMember(
        "shared_actions", member_id=1, action=fy.Action("answer", port=3, value=31)
    )
    entries = [
        fy.P4TableEntry(
            "profile_table", match=fy.Match(key=n), action=fy.IndirectAction(member_id=1)
        )
        for n in (1, 2)
    ]
    await switch.insert([member])
    await switch.insert(entries)
    assert hosts.ask(Part.PROFILE, 1) == hosts.ask(Part.PROFILE, 2) == {3: [31]}
    member.action = fy.Action("answer", port=4, value=41)
    await switch.modify([member])
    assert hosts.ask(Part.PROFILE, 1) == hosts.ask(Part.PROFILE, 2) == {4: [41]}
    assert await read(switch, fy.P4ActionProfileMember("shared_actions")) == [member]
    await refused(switch.delete([member]), {0: "FAILED_PRECONDITION"})
    await switch.delete(entries)
    await switch.delete([member])
    assert hosts.ask(Part.PROFILE, 1) == {2: [0xFFFF_FFFF]}


async def counters(switch):
    count = fy.P4CounterData(packet_count=100, byte_count=1000)
    await switch.modify([fy.P4CounterEntry("hits", index=2, data=count)])
    for _ in range(3):
        hosts.ask(Part.COUNTER, 2)
    found = await read(switch, fy.P4CounterEntry("hits"))
    assert [one.index for one in found] == [0, 1, 2, 3], found
    assert found[2].data == fy.P4CounterData(packet_count=103, byte_count=1075), found
    assert found[3].data.packet_count == 0, found


async def meters(switch):
    police = fy.P4MeterConfig(cir=1, cburst=2, pir=1, pburst=4)
    await switch.modify([fy.P4MeterEntry("police", index=1, config=police)])
    assert_policed(hosts.frames([frame(Part.METER, 1)] * 20)[2])
    assert {result(one) for one in hosts.frames([frame(Part.METER, 0)] * 20)[2]} == {0}
    found = await read(switch, fy.P4MeterEntry("police"))
    assert [one.config for one in found] == [None, police, None, None], found
    await switch.modify([fy.P4MeterEntry("police", index=1)])
    assert {result(one) for one in hosts.frames([frame(Part.METER, 1)] * 20)[2]} == {0}


async def registers(switch):
    await switch.modify([fy.P4RegisterEntry("words", index=1, data=41)])
    assert hosts.ask(Part.REGISTER, 1) == {2: [41]}
    [found] = await read(switch, fy.P4RegisterEntry("words", index=1))
    assert found.data == 42, found
    found = await read(switch, fy.P4RegisterEntry("words"))
    assert [one.data for one in found] == [0, 42, 0, 0], found


async def multicast(switch):
    group = fy.P4MulticastGroupEntry(5, replicas=[(2, 7), (3, 8), (3, 9)])
    await switch.insert([group])
    assert hosts.ask(Part.MULTICAST, 5) == {2: [7], 3: [8, 9]}
    group.replicas = [(4, 1)]
    await switch.modify([group])
    assert hosts.ask(Part.MULTICAST, 5) == {4: [1]}
    [found] = await read(switch, fy.P4MulticastGroupEntry(5))
    assert found.replicas_str() == group.replicas_str(), found
    await switch.delete([group])
    assert hosts.ask(Part.MULTICAST, 5) == {}


async def clones(switch):
    session = fy.P4CloneSessionEntry(100, replicas=[(3, 7)], packet_length_bytes=30)
    await switch.insert([session])
    sent = frame(Part.CLONE, 100, tail=bytes(range(40)))
    found = hosts.frames([sent])
    assert found[2] == [sent], found
    [clone] = found[3]
    assert result(clone) == 0xC1000007 and clone[25:] == sent[25:30], clone.hex()
    [read_back] = await read(switch, fy.P4CloneSessionEntry(100))
    assert read_back.packet_length_bytes == 30, read_back
    await switch.delete([session])
    assert hosts.frames([sent]) == {2: [sent]}


async def packets(switch):
    packet_ins = switch.read_packets()
    next_packet = asyncio.create_task(anext(packet_ins))
    await asyncio.sleep(0)
    sent = frame(Part.NONE, 5, tail=b"payload")
    hosts.send(3, sent)
    packet = await asyncio.wait_for(next_packet, PATIENCE)
    assert (packet.payload, packet["ingress_port"]) == (sent, 3), packet
    for port in (1, 2, 3, 4):
        await switch.write([fy.P4PacketOut(sent, egress_port=port, padding=0)])
        assert hosts.receive(port) == sent


async def digests(switch):
    told = switch.read_digests("seen_t")
    config = fy.P4DigestEntry("seen_t", max_list_size=1, ack_timeout_ns=60_000_000_000)
    await switch.insert([config])
    assert await read(switch, fy.P4DigestEntry("seen_t")) == [config]
    for key in (5, 5, 6):
        hosts.ask(Part.DIGEST, key)
    first, second = await next_of(told), await next_of(told)
    assert [dict(one[0]) for one in (first, second)] == [{"key": 5, "port": 1}, {"key": 6, "port": 1}]
    # What is not acknowledged is not told again; what is, is.
    await switch.write([first.ack()])
    await read(switch, fy.P4DigestEntry("seen_t"))
    hosts.ask(Part.DIGEST, 6)
    hosts.ask(Part.DIGEST, 5)
    assert dict((await next_of(told))[0])["key"] == 5
    await switch.delete([config])
    assert await read(switch, fy.P4DigestEntry("seen_t")) == []
    hosts.ask(Part.DIGEST, 7)
    await switch.insert([config])
    hosts.ask(Part.DIGEST, 8)
    assert dict((await next_of(told))[0])["key"] == 8
    await switch.delete([config])


async def idle(switch):
    told = switch.read_idle_timeouts()
    entry = fy.P4TableEntry(
        "aged_table",
        match=fy.Match(key=1),
        action=fy.Action("forward", port=3),
        idle_timeout_ns=100_000_000,
        metadata=b"mine",
    )
    lasting = fy.P4TableEntry(
        "aged_table", match=fy.Match(key=2), action=fy.Action("forward", port=4)
    )
    await switch.insert([entry, lasting])
    notification = await next_of(told)
    [aged] = list(notification)
    assert (aged.match, aged.idle_timeout_ns) == (entry.match, entry.idle_timeout_ns), aged
    # It is told, not deleted.
    assert hosts.ask(Part.AGED, 1) == {3: [0xFFFF_FFFF]}
    query = fy.P4TableEntry("aged_table", match=fy.Match(key=1), time_since_last_hit=0)
    [found] = await read(switch, query)
    assert found.time_since_last_hit > 0 and found.metadata == b"mine", found
    await switch.delete([entry, lasting])
    assert hosts.ask(Part.AGED, 1) == {}


async def ports(switch):
    """Over gNMI: which ports there are, whether they are up, what passed them."""
    found = [(port.id, port.up) for port in switch.ports]
    assert found == [(1, True), (2, True), (3, True), (4, True)], found
    client = switch.gnmi_client
    counters = GNMIPath("interfaces/interface/state/counters")

    async def counted():
        leaves = {}
        for port in switch.ports:
            for update in await client.get(counters.set("interface", name=port.name)):
                leaves[port.id, update.path.last] = update.value
        return leaves

    before = await counted()
    sent = frame(Part.COUNTER)
    hosts.frames([sent] * 10)
    after = await counted()
    grown = {key: after[key] - before[key] for key in after if after[key] != before[key]}
    # And the one that goes everywhere.
    assert grown == {
        (1, "in-unicast-pkts"): 11,
        (1, "in-octets"): 275,
        (2, "out-unicast-pkts"): 11,
        (2, "out-octets"): 275,
        (3, "out-unicast-pkts"): 1,
        (3, "out-octets"): 25,
        (4, "out-unicast-pkts"): 1,
        (4, "out-octets"): 25,
    }, grown
    await samples(client, after)
    await containers(client, switch.ports["s1"].name)


async def samples(client, counts):
    """As often as finsy's clients ask, which is every 10 us, is as often as can be."""
    sampled = client.subscribe()
    sampled.sample(
        GNMIPath("interfaces/interface[name=*]/state/counters/in-octets"), sample_interval=10_000
    )
    at_first = {update.path["interface", "name"]: update.value async for update in sampled.synchronize()}
    assert at_first["s1"] == counts[1, "in-octets"], at_first
    many = 100
    async for update in sampled.updates():
        assert update.value == at_first[update.path["interface", "name"]], update
        many -= 1
        if many == 0:
            break
    sampled.cancel()


async def containers(client, name):
    """The configuration as one value, in the encodings that clients of other models use."""
    path = GNMIPath("interfaces/interface/config").set("interface", name=name).path

    async def config(encoding):
        request = gnmi.GetRequest(path=[path], encoding=encoding)
        (notification,) = (await client._stub.Get(request)).notification
        (update,) = notification.update
        assert update.path == path, update
        return update.val

    plain = await config(gnmi.JSON)
    assert json.loads(plain.json_val) == {"name": name, "id": 1, "enabled": True}, plain
    ietf = await config(gnmi.JSON_IETF)
    assert json.loads(ietf.json_ietf_val) == {
        "openconfig-interfaces:name": name,
        "openconfig-interfaces:enabled": True,
        "openconfig-p4rt:id": 1,
    }, ietf
    for encoding in (gnmi.BYTES, gnmi.ASCII):
        try:
            await config(encoding)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
        else:
            raise AssertionError("an encoding that is not served is answered")
    await client._stub.Set(gnmi.SetRequest(replace=[gnmi.Update(path=path, val=ietf)]))


async def groups(switch):
    """Members take turns by their weights; one whose port is down has none."""
    members = [
        fy.P4ActionProfileMember(
            "next_hops", member_id=n, action=fy.Action("answer", port=2, value=n)
        )
        for n in (3, 4)
    ]
    group = fy.P4ActionProfileGroup(
        "next_hops",
        group_id=1,
        max_size=8,
        members=[fy.P4Member(3, weight=(3, 3)), fy.P4Member(4, weight=(1, 4))],
    )
    entry = fy.P4TableEntry("group_table", match=fy.Match(key=1), action=fy.IndirectAction(group_id=1))
    await switch.insert(members)
    await switch.insert([group])
    await switch.insert([entry])
    assert await read(switch, fy.P4ActionProfileGroup("next_hops")) == [group]

    def shares(ports=(2, 3, 4)):
        sent = [frame(Part.GROUP, 1, small) for small in range(64)]
        results = [result(one) for one in hosts.frames(sent, ports)[2]]
        assert len(results) == 64
        return results.count(3), results.count(4)

    both = shares()
    assert both[0] > both[1] > 0, both
    assert both == shares(), "a flow stays with its member"

    hosts.set_up(3, False)
    await until(lambda: shares((2, 4)) == (0, 64))
    await until(lambda: not switch.ports["s3"].up)
    hosts.set_up(3, True)
    await until(lambda: switch.ports["s3"].up)
    await until(lambda: shares() == both)

    group.members = [fy.P4Member(4, weight=1)]
    await switch.modify([group])
    assert shares() == (0, 64)
    await refused(switch.delete([group]), {0: "FAILED_PRECONDITION"})
    await switch.delete([entry])
    await switch.delete([group])
    await switch.delete(members)
    assert await read(switch, fy.P4ActionProfileMember("next_hops")) == []


async def clear(switch):
    """What finsy does to a switch that it meets anew."""
    kept = fy.P4TableEntry(
        "prefix_table", match=fy.Match(key="10.0.0.0/8"), action=fy.Action("answer", port=2, value=1)
    )
    await switch.insert([kept])
    await switch.delete_all()
    # Where a table is constant, finsy passes over what is not an entry.
    await switch.delete([fy.P4MulticastGroupEntry(ALL_PORTS)])
    for wildcard in [
        fy.P4TableEntry(),
        fy.P4ActionProfileMember(),
        fy.P4ActionProfileGroup(),
        fy.P4MulticastGroupEntry(),
        fy.P4CloneSessionEntry(),
        fy.P4DigestEntry("seen_t"),
    ]:
        found = await read(switch, wildcard)
        assert all(isinstance(one, fy.P4TableEntry) and one.is_const for one in found), found


async def read(switch, entity):
    return [found async for found in switch.read(entity)]


async def refused(write, expected):
    """Writes what the switch must refuse, each update with its own code."""
    try:
        await write
    except fy.P4ClientError as error:
        found = {index: detail.canonical_code.name for index, detail in error.details.items()}
        assert found == expected, (found, expected)
    else:
        raise AssertionError(f"accepted where {expected} was expected")


async def next_of(stream):
    return await asyncio.wait_for(anext(stream), PATIENCE)


async def until(done):
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not done():
        assert asyncio.get_running_loop().time() < deadline, "it does not come about"
        await asyncio.sleep(0.05)


asyncio.run(main())
print("done", flush=True)
