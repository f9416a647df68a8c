// Packets reach the table `second` only if `first` has marked them with the value of their field
// `b`, and no packet reaches the table `never`.

#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<32> a;
    bit<32> b;
    bit<32> c;
}

struct headers_t {
    h_t h;
}

struct metadata_t {
    bit<32> mark;
}

parser P(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    state start {
        packet.extract(headers.h);
        transition accept;
    }
}

control C(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control I(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    action go(bit<9> port) {
        standard.egress_spec = port;
    }

    action mark(bit<32> value) {
        meta.mark = value;
    }

    table first {
        key = { headers.h.a: exact; }
        actions = { go; mark; }
        size = 1024;
    }

    table second {
        key = { headers.h.c: exact; }
        actions = { go; }
        size = 1024;
    }

    table never {
        key = { headers.h.c: exact; }
        actions = { go; }
        size = 1024;
    }

    apply {
        if (first.apply().hit && meta.mark != 0 && meta.mark == headers.h.b) {
            second.apply();
            if (headers.h.b == 0) {
                never.apply();
            }
        }
    }
}

control E(
    inout headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard)
{
    apply { }
}

control D(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.h);
    }
}

V1Switch(P(), C(), I(), E(), C(), D()) main;
