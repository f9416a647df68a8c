"""What p4runtime-shell knows, written to a switch that forwards: seen, read back, deleted.

    p4runtime_shell_effects.py HOST:PORT DEVICE_ID P4INFO PROGRAM JSON_P4INFO JSON INTERFACE...

The interfaces are the far ends of ports 1 to 4. The program is pipelines/everything.p4, in any form
that the switch takes; the other pipeline is pipelines/forward.json, which takes its place at the
end. Whatever is not as it should be ends the script with an error.
"""
import os
import sys
import traceback

import p4runtime_sh.shell as sh
from google.rpc import code_pb2
from p4runtime_sh.p4runtime import P4RuntimeWriteException

from everything import ALL_PORTS, OTHER_TYPE, PROBE_TYPE, Hosts, Part, frame, result

PATIENCE = 20
hosts = Hosts(sys.argv[7:])


def main():
    address, device_id, p4info, program, json_p4info, json = sys.argv[1:7]
    connect(address, device_id, p4info, program)
    value_set()
    sh.MulticastGroupEntry(ALL_PORTS).add(2, 0).add(3, 0).add(4, 0).insert()
    for check in [
        exact,
        prefixes,
        ternary,
        ranges,
        optional,
        groups,
        one_shot,
        counters,
        meters,
        multicast,
        clones,
        packets,
        digests,
        idle,
    ]:
        check()
        print("checked", check.__name__, flush=True)
    sh.teardown()
    connect(address, device_id, json_p4info, json)
    bmv2_json()
    sh.teardown()
    print("checked bmv2_json", flush=True)


def connect(address, device_id, p4info, program):
    config = sh.FwdPipeConfig(p4info, program)
    sh.setup(int(device_id), address, election_id=(0, 1), config=config, verbose=False)
    # As a switch writes numbers. Here, since setting up resets it.
    sh.global_options["canonical_bytestrings"] = True


def value_set():
    """The shell has no word for value sets, but its messages do."""
    update = sh.p4runtime_pb2.Update(type=sh.p4runtime_pb2.Update.MODIFY)
    entry = update.entity.value_set_entry
    entry.value_set_id = sh.context.p4info.value_sets[0].preamble.id
    for member in (PROBE_TYPE, OTHER_TYPE):
        match = entry.members.add().match.add(field_id=1)
        match.exact.value = member.to_bytes(2, "big")
    sh.client.write_update(update)


def entry(table, action, fields, priority=0, **parameters):
    made = sh.TableEntry(table)(action=action, priority=priority)
    made.match.set(**fields)
    for name, value in parameters.items():
        made.action[name] = str(value)
    return made


def exact():
    one = entry("exact_table", "counted", {"key": "7"}, port=3)
    one.insert()
    assert hosts.ask(Part.EXACT, 7) == {3: [0]}
    one.action["port"] = "4"
    one.modify()
    assert hosts.ask(Part.EXACT, 7) == {4: [0]}
    assert same(sh.TableEntry("exact_table").read(), [one])
    refused(one.insert, "ALREADY_EXISTS")

    counter = sh.DirectCounterEntry("exact_counter")
    counter.table_entry.match["key"] = "7"
    [found] = counter.read()
    assert (found.packet_count, found.byte_count) == (2, 50), found
    meter = sh.DirectMeterEntry("exact_meter")
    meter.table_entry.match["key"] = "7"
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 1, 4
    meter.modify()
    assert_policed(hosts.frames([frame(Part.EXACT, 7)] * 20)[4])
    one.delete()
    assert hosts.ask(Part.EXACT, 7) == {}
    refused(one.delete, "NOT_FOUND")


def assert_policed(frames):
    """RFC 2698: green while the committed bucket lasts, then yellow, then red."""
    colours = [result(one) for one in frames]
    assert colours[:2] == [0, 0] and {0, 1, 2} == set(colours), colours


def prefixes():
    routes = [
        entry("prefix_table", "answer", {"key": prefix}, port=port, value=value)
        for prefix, port, value in [("10.0.0.0/8", 2, 8), ("10.1.0.0/16", 3, 16)]
    ]
    for route in routes:
        route.insert()
    assert hosts.ask(Part.PREFIX, 0x0A010000) == {3: [16]}
    assert hosts.ask(Part.PREFIX, 0x0A020000) == {2: [8]}
    assert same(sh.TableEntry("prefix_table").read(), routes)
    routes[1].delete()
    assert hosts.ask(Part.PREFIX, 0x0A010000) == {2: [8]}
    default = sh.TableEntry("prefix_table")(action="answer", is_default=True)
    default.action["port"], default.action["value"] = "4", "1"
    default.modify()
    assert hosts.ask(Part.PREFIX, 0x0B000000) == {4: [1]}
    routes[0].delete()


def ternary():
    low = entry("ternary_table", "answer", {"key": "0x0f&&&0x0f"}, 1, port=2, value=1)
    high = entry(
        "ternary_table", "answer", {"key": "0x0f&&&0x0f", "small": "0x100&&&0xff00"}, 10, port=2, value=10
    )
    low.insert()
    high.insert()
    assert hosts.ask(Part.TERNARY, 0x1F, 0x0101) == {2: [10]}
    assert hosts.ask(Part.TERNARY, 0x1F, 0x0201) == {2: [1]}
    assert same(sh.TableEntry("ternary_table").read(), [low, high])
    low.delete()
    high.delete()
    assert hosts.ask(Part.TERNARY, 0x1F, 0x0101) == {}


def ranges():
    one = entry("range_table", "answer", {"small": "80..90"}, 1, port=3, value=80)
    one.insert()
    assert hosts.ask(Part.RANGE, 0, 90) == {3: [80]}
    assert hosts.ask(Part.RANGE, 0, 91) == {}
    assert same(sh.TableEntry("range_table").read(), [one])
    one.delete()


def optional():
    one = entry("optional_table", "answer", {"small": "1"}, 1, port=2, value=1)
    one.insert()
    assert hosts.ask(Part.OPTIONAL, 6, 1) == {2: [1]}
    assert same(sh.TableEntry("optional_table").read(), [one])
    one.delete()


def groups():
    members = []
    for n in (3, 4):
        member = sh.ActionProfileMember("next_hops")(action="answer", member_id=n)
        member.action["port"], member.action["value"] = "2", str(n)
        member.insert()
        members.append(member)
    group = sh.ActionProfileGroup("next_hops")(group_id=1, max_size=8)
    group.add(3, weight=3).add(4, weight=1)
    group.insert()
    one = sh.TableEntry("group_table")(group_id=1)
    one.match["key"] = "1"
    one.insert()
    assert same(sh.ActionProfileGroup("next_hops").read(), [group])
    three, four = shares()
    assert three > four > 0, (three, four)
    group.clear()
    group.add(4)
    group.modify()
    assert shares() == (0, 64)
    one.delete()
    group.delete()
    for member in members:
        member.delete()


def shares():
    sent = [frame(Part.GROUP, 1, small) for small in range(64)]
    results = [result(one) for one in hosts.frames(sent)[2]]
    return results.count(3), results.count(4)


def one_shot():
    one = sh.TableEntry("group_table")
    one.match["key"] = "1"
    for value, weight in (("3", 3), ("4", 1)):
        action = sh.Action("answer")
        action["port"], action["value"] = "2", value
        one.oneshot.add(action, weight=weight)
    one.insert()
    three, four = shares()
    assert three > four > 0, (three, four)
    assert same(sh.TableEntry("group_table").read(), [one])
    one.delete()


def counters():
    hits = sh.CounterEntry("hits")
    hits.index, hits.packet_count, hits.byte_count = 1, 100, 1000
    hits.modify()
    hosts.ask(Part.COUNTER, 1)
    found = [(one.packet_count, one.byte_count) for one in sh.CounterEntry("hits").read()]
    # Index 0 has what is sent behind each question elsewhere.
    assert found[1:] == [(101, 1025), (0, 0), (0, 0)], found


def meters():
    police = sh.MeterEntry("police")
    police.index = 1
    police.cir, police.cburst, police.pir, police.pburst = 1, 2, 1, 4
    police.modify()
    assert_policed(hosts.frames([frame(Part.METER, 1)] * 20)[2])
    [found] = police.read()
    assert (found.cir, found.cburst, found.pir, found.pburst) == (1, 2, 1, 4), found


def multicast():
    group = sh.MulticastGroupEntry(5).add(2, 7).add(3, 8)
    group.insert()
    assert hosts.ask(Part.MULTICAST, 5) == {2: [7], 3: [8]}
    assert same(sh.MulticastGroupEntry(5).read(), [group])
    group.delete()
    assert hosts.ask(Part.MULTICAST, 5) == {}


def clones():
    session = sh.CloneSessionEntry(100).add(3, 7)
    session.insert()
    assert hosts.ask(Part.CLONE, 100) == {2: [0xFFFF_FFFF], 3: [0xC100_0007]}
    assert same(sh.CloneSessionEntry(100).read(), [session])
    session.delete()
    assert hosts.ask(Part.CLONE, 100) == {2: [0xFFFF_FFFF]}


def packets():
    sent = frame(Part.NONE, 5)
    hosts.send(3, sent)
    # Misses of the checks before went to the controller as well.
    while (packet := sh.client.get_stream_packet("packet", timeout=PATIENCE).packet).payload != sent:
        pass
    metadata = {one.metadata_id: one.value for one in packet.metadata}
    assert metadata[1] == b"\x03", packet
    sh.PacketOut(sent, egress_port="4", padding="0").send()
    assert hosts.receive(4) == sent


def digests():
    config = sh.DigestEntry("seen_t")
    config.max_list_size, config.ack_timeout_ns = 1, 60_000_000_000
    config.insert()
    hosts.ask(Part.DIGEST, 5)
    told = sh.client.get_stream_packet("digest", timeout=PATIENCE).digest
    [key, port] = [member.bitstring for member in told.data[0].struct.members]
    assert (key, port) == (b"\x05", b"\x01"), told
    assert same(sh.DigestEntry("seen_t").read(), [config])
    config.delete()


def idle():
    one = entry("aged_table", "forward", {"key": "1"}, port=3)
    one.idle_timeout_ns = 100_000_000
    one.insert()
    told = sh.client.get_stream_packet("idle_timeout_notification", timeout=PATIENCE)
    [aged] = told.idle_timeout_notification.table_entry
    assert aged.match == one.msg().match, aged
    assert hosts.ask(Part.AGED, 1) == {3: [0xFFFF_FFFF]}
    one.delete()


def bmv2_json():
    """Another program, as p4c's BMv2 backend would have written it."""

    def to(station, tail):
        return station.to_bytes(6, "big") + bytes(6) + PROBE_TYPE.to_bytes(2, "big") + tail

    one = sh.TableEntry("stations")(action="forward")
    one.match["hdr.ethernet.dstAddr"] = "00:00:00:00:00:0c"
    one.action["port"] = "3"
    one.insert()
    # The first is known to nobody, and no entry of the program before is left.
    for number in (0xB, 0xC):
        hosts.send(1, to(number, b"x" * 50))
    assert hosts.receive(3) == to(0xC, b"x" * 50)
    counter = sh.DirectCounterEntry("hits")
    counter.table_entry.match["hdr.ethernet.dstAddr"] = "00:00:00:00:00:0c"
    [found] = counter.read()
    assert (found.packet_count, found.byte_count) == (1, 64), found
    default = sh.TableEntry("stations")(action="forward", is_default=True)
    default.action["port"] = "2"
    default.modify()
    one.delete()
    hosts.send(1, to(0xC, b""))
    assert hosts.receive(2) == to(0xC, b"")


def refused(write, expected):
    try:
        write()
    except P4RuntimeWriteException as error:
        [(_, detail)] = error.errors
        assert code_pb2.Code.Name(detail.canonical_code) == expected, error
    else:
        raise AssertionError(f"accepted where {expected} was expected")


def same(found, expected):
    """Whether the entities are equal, in any order; shows them if not."""
    found = sorted(str(entity.msg()) for entity in found)
    expected = sorted(str(entity.msg()) for entity in expected)
    if found != expected:
        print("read:", *found, "written:", *expected, sep="\n")
    return found == expected


try:
    main()
    print("done", flush=True)
    os._exit(0)
except BaseException:
    # The client's own threads would keep the process.
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
