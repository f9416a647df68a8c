// A switch for tests of traces: a group chooses a port or a multicast group, a mirror copies, and
// groups of egress choose a mark for each copy.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> kind;
    bit<8> flow;
    bit<8> mark;
    bit<8> ttl;
}

struct headers {
    h_t h;
}

struct meta {
    bit<8> unused;
}

parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        b.extract(h.h);
        transition accept;
    }
}

control V(inout headers h, inout meta m) {
    apply { }
}

control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<8>>(4) seen;
    counter(4, CounterType.packets) hits;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) members;
    action forward(bit<9> port, bit<8> mark) {
        s.egress_spec = port;
        h.h.mark = mark;
    }
    action copy(bit<16> group) {
        s.mcast_grp = group;
    }
    action discard() {
        mark_to_drop(s);
    }
    action mirror(bit<32> session) {
        clone(CloneType.I2E, session);
    }
    table filter {
        key = { h.h.mark: ternary; }
        actions = { discard; NoAction; }
        default_action = NoAction();
    }
    table mirrors {
        key = { h.h.kind: exact; }
        actions = { mirror; NoAction; }
        default_action = NoAction();
    }
    table route {
        key = {
            h.h.kind: exact;
            h.h.flow: selector;
        }
        actions = { forward; copy; discard; }
        implementation = members;
    }
    apply {
        h.h.ttl = h.h.ttl - 1;
        filter.apply();
        mirrors.apply();
        route.apply();
        bit<8> old;
        seen.read(old, 0);
        seen.write(0, old + h.h.mark);
        hits.count(1);
        if (old > 200) {
            mark_to_drop(s);
        }
    }
}

control E(inout headers h, inout meta m, inout standard_metadata_t s) {
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) marks;
    action rewrite(bit<8> mark) {
        h.h.mark = mark;
    }
    table rewrites {
        key = {
            s.egress_port: exact;
            h.h.flow: selector;
        }
        actions = { rewrite; }
        implementation = marks;
    }
    apply {
        rewrites.apply();
    }
}

control D(packet_out b, in headers h) {
    apply {
        b.emit(h);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
