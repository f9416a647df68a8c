"""Every kind of entity that p4runtime-shell knows, written to an emulated switch and read back.

    p4runtime_shell_entities.py HOST:PORT DEVICE_ID

Answers packet-ins all the while. What is read must equal what was written; else it ends with an
error. At the end it prints how many table entries it installed and removed, and how many updates
were refused.
"""
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import grpc
import p4runtime_sh.shell as sh
from google.rpc import code_pb2, status_pb2
from p4.v1 import p4runtime_pb2
from p4runtime_sh.p4runtime import P4RuntimeClient, P4RuntimeException, P4RuntimeWriteException

P4INFO = Path(__file__).resolve().parents[1] / "pipelines/entities.p4info.txtpb"
tally = {"installed": 0, "removed": 0, "refused": 0}
traffic = threading.Event()


def main():
    address, device_id = sys.argv[1], int(sys.argv[2])
    fresh(address, device_id)
    device_config = Path(tempfile.mkstemp()[1])
    device_config.write_bytes(b"any device configuration")
    files = sh.FwdPipeConfig(str(P4INFO), str(device_config))
    sh.setup(device_id, address, election_id=(0, 10), config=files, verbose=False)
    threading.Thread(target=answer, daemon=True).start()
    assert traffic.wait(60), "packet-ins arrive"
    assert sh.APIVersion().startswith("1."), sh.APIVersion()
    pipeline(device_id)
    backup(address, device_id)
    padded()
    tables()
    refusals()
    profiles()
    replication()
    resources()
    print("done", json.dumps(tally), flush=True)
    # The switch goes on with its packet-ins.
    time.sleep(120)


def fresh(address, device_id):
    """A switch without a pipeline says so."""
    client = P4RuntimeClient(device_id, address, (0, 1))
    try:
        client.get_p4info()
    except P4RuntimeException as error:
        assert error.grpc_error.code().name == "FAILED_PRECONDITION", error
        assert "No forwarding pipeline config set for this device" in str(error), error
    else:
        raise AssertionError("there is a pipeline already")
    finally:
        client.tear_down()


def answer():
    while message := sh.client.get_stream_packet("packet", timeout=None):
        metadata = {one.metadata_id: one.value for one in message.packet.metadata}
        assert sorted(metadata) == [1, 2], metadata
        if message.packet.payload[12:14] == b"\x08\x00":
            traffic.set()
        port = int.from_bytes(metadata[1], "big")
        sh.PacketOut(message.packet.payload, egress_port=str(port), padding="0").send()


def pipeline(device_id):
    """What was pushed comes back whole."""
    request = p4runtime_pb2.GetForwardingPipelineConfigRequest()
    request.device_id = device_id
    config = sh.client.stub.GetForwardingPipelineConfig(request).config
    assert config.p4_device_config == b"any device configuration"
    assert config.p4info == sh.context.p4info


def backup(address, device_id):
    """A client with a lower election id may read, and not write."""
    client = P4RuntimeClient(device_id, address, (0, 9))
    request = p4runtime_pb2.WriteRequest(device_id=device_id)
    try:
        client.write(request)
    except Exception as error:
        assert error.code().name == "PERMISSION_DENIED", error
    else:
        raise AssertionError("a backup may write")
    assert client.get_p4info() == sh.context.p4info
    client.tear_down()


def padded():
    """The shell pads numbers unless told otherwise. That is accepted, and comes back canonical."""
    sh.global_options["canonical_bytestrings"] = False
    entry = exact(3)
    assert b"\x00\x03" in entry.msg().SerializeToString()
    install(entry.insert)
    sh.global_options["canonical_bytestrings"] = True
    assert same(sh.TableEntry("exact").read(), [exact(3)])
    exact(3).delete()
    tally["removed"] += 1


def tables():
    exact = sh.TableEntry("exact")(action="forward")
    exact.match.set(port="3", address="00:00:5e:00:53:01")
    exact.action["port"] = "5"
    exact.metadata = b"cookie"
    exact.idle_timeout_ns = 5_000_000_000
    install(exact.insert)
    acl = sh.TableEntry("acl")(action="forward", priority=10)
    acl.match.set(source="192.0.2.0&&&255.255.255.0", dport="80..443", protocol="6")
    acl.action["port"] = "2"
    install(acl.insert)
    # The same match with another priority is another entry.
    other = sh.TableEntry("acl")(action="drop", priority=9)
    other.match.set(source="192.0.2.0&&&255.255.255.0", dport="80..443", protocol="6")
    install(other.insert)
    routes = []
    for n in range(20):
        route = sh.TableEntry("routes")(action="forward")
        route.match["destination"] = f"198.51.{n}.0/24"
        route.action["port"] = str(n + 1)
        install(route.insert)
        routes.append(route)
    for table, entries in [("exact", [exact]), ("acl", [acl, other]), ("routes", routes)]:
        assert same(sh.TableEntry(table).read(), entries), table

    exact.action = sh.Action("drop")
    install(exact.modify)
    assert same(sh.TableEntry("exact").read(), [exact])

    # A default entry exists from the start, and may be changed where it is not constant.
    [found] = sh.TableEntry("acl")(is_default=True).read()
    assert found.is_default and found.action is None, found
    default = sh.TableEntry("acl")(action="forward", is_default=True)
    default.action["port"] = "9"
    install(default.modify)
    [found] = sh.TableEntry("acl")(is_default=True).read()
    assert found.is_default and found.action.msg() == default.action.msg(), found

    for route in routes[10:]:
        route.delete()
        tally["removed"] += 1
    assert same(sh.TableEntry("routes").read(), routes[:10])


def refusals():
    """The codes that the specification names arrive in the shell, each with its update."""
    route = sh.TableEntry("routes")(action="drop")
    route.match["destination"] = "198.51.0.0/24"
    refused(route.insert, "ALREADY_EXISTS")
    route.match["destination"] = "203.0.113.0/24"
    refused(route.modify, "NOT_FOUND")
    refused(route.delete, "NOT_FOUND")
    unranked = sh.TableEntry("acl")(action="drop")
    unranked.match["protocol"] = "1"
    refused(unranked.insert, "INVALID_ARGUMENT")
    constant = sh.TableEntry("routes")(action="drop", is_default=True)
    refused(constant.modify, "PERMISSION_DENIED")
    # The table holds three entries.
    for n in (1, 2):
        entry = exact(n)
        install(entry.insert)
    refused(exact(3).insert, "RESOURCE_EXHAUSTED")

    # Those around a refused update of one request are done. The shell's own reader of details
    # never ends where one of them is OK.
    request = p4runtime_pb2.WriteRequest(device_id=int(sys.argv[2]))
    request.election_id.low = 10
    for entry, kind in [(exact(1), "DELETE"), (exact(1), "DELETE"), (exact(3), "INSERT")]:
        update = request.updates.add(type=p4runtime_pb2.Update.Type.Value(kind))
        update.entity.table_entry.CopyFrom(entry.msg())
    try:
        sh.client.stub.Write(request)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNKNOWN, error
        assert codes(error) == [code_pb2.OK, code_pb2.NOT_FOUND, code_pb2.OK], codes(error)
    else:
        raise AssertionError("a batch with a wrong update is refused")
    tally["removed"] += 1
    tally["refused"] += 1
    tally["installed"] += 1


def codes(error):
    """The code of every update of a refused batch."""
    [details] = [value for key, value in error.trailing_metadata() if key.endswith("details-bin")]
    found = []
    for detail in status_pb2.Status.FromString(details).details:
        one = p4runtime_pb2.Error()
        assert detail.Unpack(one), detail
        found.append(one.canonical_code)
    return found


def exact(n):
    entry = sh.TableEntry("exact")(action="drop")
    entry.match.set(port=str(n), address="00:00:00:00:00:01")
    return entry


def refused(write, expected):
    try:
        write()
    except P4RuntimeWriteException as error:
        [(index, detail)] = error.errors
        found = code_pb2.Code.Name(detail.canonical_code)
        assert (index, found) == (0, expected), error
        assert detail.message, "an error says what is wrong"
        tally["refused"] += 1
    else:
        raise AssertionError(f"accepted where {expected} was expected")


def profiles():
    members = []
    for n in (1, 2, 3):
        member = sh.ActionProfileMember("next_hops")(action="forward", member_id=n)
        member.action["port"] = str(n)
        member.insert()
        members.append(member)
    assert same(sh.ActionProfileMember("next_hops").read(), members)
    group = sh.ActionProfileGroup("next_hops")(group_id=7, max_size=4)
    group.add(1, weight=1).add(2, weight=2)
    group.insert()
    assert same(sh.ActionProfileGroup("next_hops").read(), [group])
    group.clear()
    group.add(3)
    group.modify()
    assert same(sh.ActionProfileGroup("next_hops").read(), [group])

    by_group = sh.TableEntry("balanced")(group_id=7)
    by_group.match["key"] = "1"
    by_member = sh.TableEntry("balanced")(member_id=1)
    by_member.match["key"] = "2"
    for entry in (by_group, by_member):
        install(entry.insert)
    assert same(sh.TableEntry("balanced").read(), [by_group, by_member])
    for entry in (by_group, by_member):
        entry.delete()
        tally["removed"] += 1
    one_shot = sh.TableEntry("balanced")
    one_shot.match["key"] = "3"
    action = sh.Action("forward")
    action["port"] = "4"
    one_shot.oneshot.add(action, weight=2)
    # A selector is programmed in one way or the other.
    refused(one_shot.insert, "INVALID_ARGUMENT")
    group.delete()
    for member in members:
        member.delete()
    install(one_shot.insert)
    assert same(sh.TableEntry("balanced").read(), [one_shot])


def replication():
    group = sh.MulticastGroupEntry(5).add(1, 1).add(2, 1)
    group.insert()
    assert same(sh.MulticastGroupEntry().read(), [group])
    group.add(3, 1)
    group.modify()
    assert same(sh.MulticastGroupEntry(5).read(), [group])
    session = sh.CloneSessionEntry(100).add(4, 1)
    session.packet_length_bytes = 64
    session.insert()
    assert same(sh.CloneSessionEntry().read(), [session])
    group.delete()
    session.delete()
    assert same(sh.MulticastGroupEntry().read(), [])
    assert same(sh.CloneSessionEntry().read(), [])


def resources():
    hits = sh.CounterEntry("hits")
    hits.index = 1
    hits.packet_count = 3
    hits.byte_count = 1500
    hits.modify()
    found = [(one.index, one.packet_count, one.byte_count) for one in sh.CounterEntry("hits").read()]
    assert found == [(0, 0, 0), (1, 3, 1500), (2, 0, 0)], found

    direct = sh.DirectCounterEntry("exact_counter")
    direct.table_entry.match.set(port="2", address="00:00:00:00:00:01")
    direct.packet_count = 7
    direct.modify()
    counted = {one.packet_count for one in sh.DirectCounterEntry("exact_counter").read()}
    assert counted == {0, 7}, counted

    police = sh.MeterEntry("police")
    police.index = 0
    police.cir, police.cburst, police.pir, police.pburst = 10, 20, 30, 40
    police.modify()
    [found] = police.read()
    assert (found.cir, found.cburst, found.pir, found.pburst) == (10, 20, 30, 40), found

    meter = sh.DirectMeterEntry("exact_meter")
    meter.table_entry.match.set(port="2", address="00:00:00:00:00:01")
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    [found] = meter.read()
    assert (found.cir, found.cburst, found.pir, found.pburst) == (1, 2, 3, 4), found

    digest = sh.DigestEntry("learn_t")
    digest.max_timeout_ns, digest.max_list_size, digest.ack_timeout_ns = 1000, 10, 5
    digest.insert()
    [found] = sh.DigestEntry("learn_t").read()
    assert found.msg() == digest.msg(), found


def install(write):
    write()
    tally["installed"] += 1


def same(found, expected):
    """Whether the entities are equal, in any order; shows them if not."""
    found = sorted(str(entity.msg()) for entity in found)
    expected = sorted(str(entity.msg()) for entity in expected)
    if found != expected:
        print("read:", *found, "written:", *expected, sep="\n")
    return found == expected


try:
    main()
except BaseException:
    # The client's own threads would keep the process.
    traceback.print_exc()
    os._exit(1)
