"""The first call of a client of simple_switch, and how it ends.

    thrift_call.py HOST PORT

With each transport and form that Thrift's library has for the binary protocol. Whatever is not as it should be
ends the script with an error.
"""
import sys

from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport

HOST, PORT = sys.argv[1], int(sys.argv[2])


def called(transport, protocol, service, name):
    """Calls a method as generated code does; the exception that it is answered with."""
    transport.open()
    # BMv2's services share a connection by their names.
    out = TMultiplexedProtocol(protocol, service) if service else protocol
    out.writeMessageBegin(name, TMessageType.CALL, 7)
    out.writeStructBegin("arguments")
    out.writeFieldBegin("cxt_id", TType.I32, 1)
    out.writeI32(0)
    out.writeFieldEnd()
    out.writeFieldStop()
    out.writeStructEnd()
    out.writeMessageEnd()
    transport.flush()
    answered, kind, sequence = protocol.readMessageBegin()
    assert (answered, kind, sequence) == (name, TMessageType.EXCEPTION, 7), (answered, kind, sequence)
    error = TApplicationException()
    error.read(protocol)
    protocol.readMessageEnd()
    transport.close()
    return error


def socket():
    made = TSocket(HOST, PORT)
    made.setTimeout(20_000)
    return made


count = 0
for wrap in (TBufferedTransport, TFramedTransport):
    for make in (
        TBinaryProtocol,
        TBinaryProtocolAccelerated,
        lambda transport: TBinaryProtocol(transport, strictRead=False, strictWrite=False),
    ):
        for service, name in (("standard", "bm_get_config"), ("simple_switch", "swap_configs"), ("", "alone")):
            transport = wrap(socket())
            error = called(transport, make(transport), service, name)
            assert error.type == TApplicationException.UNKNOWN_METHOD, error.type
            full = f"{service}:{name}" if service else name
            for part in (full, "was not carried out", "P4Runtime", "--runtime-json"):
                assert part in str(error), (part, str(error))
            count += 1
print("answered", count, flush=True)
print("done", flush=True)
