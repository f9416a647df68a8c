// A program for tests of trees, whose choices nest: in controls that a control calls, in `if`
// statements, in egress, and again after resubmission and recirculation.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> kind;
    bit<8> flow;
    bit<8> mark;
    bit<8> round;
}

struct headers {
    h_t h;
}

struct meta {
    @field_list(1)
    bit<8> turns;
    bit<8> drawn;
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

control Pick(inout headers h) {
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) picked;
    action change(bit<8> mark) {
        h.h.mark = h.h.mark ^ mark;
    }
    table picks {
        key = {
            h.h.kind: exact;
            h.h.flow: selector;
        }
        actions = { change; NoAction; }
        implementation = picked;
    }
    apply {
        h.h.flow = h.h.flow + 1;
        switch (picks.apply().action_run) {
            change: {
                h.h.flow = h.h.flow + 3;
            }
            default: { }
        }
    }
}

control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<8>>(4) seen;
    counter(4, CounterType.packets) hits;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) members;
    Pick() early;
    Pick() late;
    action forward(bit<9> port) {
        s.egress_spec = port;
    }
    action copy(bit<16> group) {
        s.mcast_grp = group;
    }
    action discard() {
        mark_to_drop(s);
    }
    action once_more() {
        resubmit_preserving_field_list(1);
    }
    action mirror(bit<32> session) {
        clone_preserving_field_list(CloneType.I2E, session, 1);
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
        actions = { forward; copy; discard; once_more; }
        implementation = members;
    }
    apply {
        bit<8> before;
        seen.read(before, 1);
        m.turns = m.turns + 1;
        mirrors.apply();
        if (h.h.kind < 100) {
            bit<8> kept = before + h.h.mark;
            early.apply(h);
            if (m.turns < 3) {
                random(m.drawn, 8w0, 8w255);
                route.apply();
            } else {
                s.egress_spec = 1;
            }
            h.h.mark = h.h.mark + kept;
            late.apply(h);
        }
        seen.write(1, before + h.h.mark);
        h.h.flow = h.h.flow ^ m.drawn;
        hits.count(1);
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
        if (h.h.round == 0 && h.h.mark[0:0] == 1) {
            h.h.round = 1;
            recirculate_preserving_field_list(1);
        }
    }
}

control D(packet_out b, in headers h) {
    apply {
        b.emit(h);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
