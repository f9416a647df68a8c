"""Writes batches of entries until the switch is gone, or counts those that a switch has.

    p4runtime_kill.py write HOST:PORT P4INFO PROGRAM
    p4runtime_kill.py count HOST:PORT P4INFO

The program is pipelines/exercises/multicast.p4, with room for a million entries. After each batch that
was answered, how many entries were written is printed.
"""
import queue
import sys

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as v1
from p4.v1 import p4runtime_pb2_grpc

BATCH = 100
COMMIT = v1.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
mode, address, p4info_file = sys.argv[1:4]
stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel(address))
with open(p4info_file) as file:
    p4info = text_format.Parse(file.read(), p4info_pb2.P4Info())
table = next(table for table in p4info.tables if table.preamble.alias == "stations")
action = next(action for action in p4info.actions if action.preamble.alias == "to_station")


def insert(number):
    entry = v1.TableEntry(table_id=table.preamble.id)
    entry.match.add(field_id=1).exact.value = number.to_bytes(6, "big")
    entry.action.action.action_id = action.preamble.id
    entry.action.action.params.add(param_id=1, value=b"\x01")
    return v1.Update(type=v1.Update.INSERT, entity=v1.Entity(table_entry=entry))


def write():
    requests = queue.Queue()
    election = v1.Uint128(low=1)
    arbitration = v1.MasterArbitrationUpdate(device_id=1, election_id=election)
    requests.put(v1.StreamMessageRequest(arbitration=arbitration))
    stream = stub.StreamChannel(iter(requests.get, None))
    assert next(stream).arbitration.status.code == 0
    with open(sys.argv[4], "rb") as file:
        config = v1.ForwardingPipelineConfig(p4info=p4info, p4_device_config=file.read())
    push = v1.SetForwardingPipelineConfigRequest(
        device_id=1, election_id=election, config=config, action=COMMIT
    )
    stub.SetForwardingPipelineConfig(push)
    for first in range(1, 10_000 * BATCH, BATCH):
        updates = [insert(number) for number in range(first, first + BATCH)]
        stub.Write(v1.WriteRequest(device_id=1, election_id=election, updates=updates))
        print("written", first - 1 + BATCH, flush=True)


def count():
    wanted = v1.Entity(table_entry=v1.TableEntry(table_id=table.preamble.id))
    answers = stub.Read(v1.ReadRequest(device_id=1, entities=[wanted]))
    print("found", sum(len(answer.entities) for answer in answers), flush=True)
    print("done", flush=True)


{"write": write, "count": count}[mode]()
