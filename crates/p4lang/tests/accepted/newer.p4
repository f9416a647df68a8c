// Of the working draft: arrays of all that a struct may hold, widths without parentheses, and what else is newer.

#include <core.p4>
#include <v1model.p4>

const int W = 7;
const bit<W + 1> ones = 0xff;
typedef bit<W * 2 + 2> half;
typedef int<W << 1> odd;
typedef bit<(W > 3 ? 4 : 5)> chosen;

enum bit<8> Kind {
    first = 1,
    second = Kind.first + 1,
    both = Kind.first | Kind.second
}

header E {
    bit<48> d;
    bit<48> s;
    bit<16> t;
}
header Row {
    bit<8>[4] cells;
    bit<4>[2][2] nibbles;
}
// No packet has it: there is no telling where the first option ends.
header Two {
    varbit<32> a;
    bit<8> n;
    varbit<64> b;
}
struct Pair {
    bit<8> a;
    bit<8> b;
}
struct H {
    E e;
    E[3] es;
    Row row;
}
struct M {
    bit<8>[4] bytes;
    Pair[2] pairs;
    bit<8>[2][3] grid;
    bool[2] flags;
    Two two;
    half w;
    chosen c;
}

const bit<8>[4] table_of_bytes = { 1, 2, 3, 4 };

bit<8> pick(in bit<8>[4] from, in bit<8> at) {
    return from[at];
}
bit<8> sum(in bit<8> x) {
    return x + 1;
}
bit<8> sum(in bit<16> x) {
    return x[7:0] + x[15:8];
}
bit<8> sum(in Pair x) {
    return x.a + x.b;
}

parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        b.extract(h.e);
        b.extract(h.row);
        m.bytes = { 9, 8, 7, 6 };
        transition accept;
    }
}
control V(inout H h, inout M m) {
    apply {}
}
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action set(bit<8> v) {
        m.bytes[1] = v;
    }
    table t {
        key = {
            m.bytes[2] : exact;
            m.pairs[0].a : exact;
        }
        actions = {
            set;
            NoAction;
        }
        default_action = NoAction;
    }
    apply {
        bit<8>[4] own = table_of_bytes;
        own[s.ingress_port[1:0]] = pick(m.bytes, 2);
        m.bytes = own;
        m.pairs[1] = { 1, 2 };
        m.pairs = { { 3, 4 }, { a = 5, b = 6 } };
        m.grid[1][0] = own[3];
        m.flags[0] = m.bytes == own;
        if (m.flags[0]) {
            s.egress_spec = 1;
        }
        Pair p = (Pair) m.pairs[0];
        E whole = (E) h.e;
        h.e = whole;
        h.es = ...;
        h.es = { h.e, ... };
        m.bytes = ...;
        m.bytes = { 1, ... };
        m.pairs = { { 1, ... }, ... };
        m.bytes[0] = sum(m.bytes[0]) + sum(h.e.t) + sum(p);
        bit<W + 1> x = (bit<W + 1>) h.e.t[7:0];
        for (bit<8> one in m.bytes) {
            x = x + one;
        }
        m.bytes[3] = x & Kind.both;
        h.row.cells[0] = h.row.cells[1] + (bit<8>) h.row.nibbles[0][1];
        h.row.cells = m.bytes;
        t.apply();
    }
}
control G(inout H h, inout M m, inout standard_metadata_t s) {
    apply {}
}
control D(packet_out b, in H h) {
    apply {
        b.emit(h.e);
        b.emit(h.es);
        b.emit(h.row);
    }
}
V1Switch(P(), V(), I(), G(), V(), D()) main;
