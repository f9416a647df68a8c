#include <core.p4>
#include <v1model.p4>

typedef bit<9> Port;
type bit<32> Index;
enum bit<8> Kind { A = 1, B = 2 }
enum Color { red, green }
error { MyError }

header H { bit<8> a; bit<8> b; bit<16> c; }
header V { bit<8> len; varbit<320> data; }
header_union U { H x; V y; }
struct S { bit<8> p; bit<16> q; bool r; }
struct G<T> { T one; bit<4> two; }
struct headers { H h; H g; H[4] st; U u; V v; }
struct meta { S s; Index i; Kind k; Color col; G<bit<12>> gen; bit<32> n; tuple<bit<8>, bit<16>> tup; int<8> sg; }

const bit<8> TEN = 10;
const S CS = { 1, 2, true };

bit<8> twice(in bit<8> x) { return x + x; }
bit<8> bump(inout bit<8> x) { x = x + 1; return x; }
T same<T>(in T x) { return x; }
void swap(inout bit<8> x, inout bit<8> y) { bit<8> t = x; x = y; y = t; }
bool set_it(out bit<8> x) { x = 3; return true; }
bit<8> dflt(in bit<8> x, in bit<8> y = 7) { return x ++ y == 0 ? x : y; }

parser Sub(packet_in p, out H h)(bit<8> limit) {
    state start { p.extract(h); transition select(h.a) { limit: accept; _: reject; } }
}

parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    Sub(8w9) sub;
    value_set<bit<8>>(4) vs;
    bit<8> count = 0;
    state start {
        p.extract(h.h);
        verify(h.h.a != 0, error.MyError);
        bit<8> local;
        local = p.lookahead<bit<8>>();
        transition select(h.h.a, p.lookahead<bit<16>>()) {
            (1, 0x800 &&& 0xff00): more;
            (2 .. 4, _): var;
            (TEN, 5): sub_state;
            default: accept;
        }
    }
    state more {
        p.extract(h.st.next);
        count = count + 1;
        transition select(h.st.last.a) { vs: more; 7: accept; }
    }
    state var { p.extract(h.v, (bit<32>)(h.h.b * 8)); p.advance(16); p.extract<H>(_); transition union_state; }
    state union_state { p.extract(h.u.x); transition accept; }
    state sub_state { sub.apply(p, h.g); transition accept; }
}

control C(inout headers h, inout meta m)(bit<8> step, bool flag) {
    action inc(bit<8> d) { h.h.a = h.h.a + d + step; }
    table t { key = { h.h.b: exact; } actions = { inc; } size = 16; }
    apply { if (flag) { t.apply(); } else { h.h.b = step; } }
}

control D(inout bit<8> x) { apply { x = x |+| 1; } }

control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    C(3, true) c1;
    @name("second") C(step = 4, flag = false) c2;
    register<bit<32>>(16) reg;
    counter(16, CounterType.packets) cnt;
    direct_counter(CounterType.bytes) dc;
    action_selector(HashAlgorithm.crc16, 32w64, 32w8) sel;
    bit<8> v = TEN;
    bit<8> w;
    action unused() { v = 1; }
    action act(inout bit<8> x, in bit<8> y, bit<8> z) { x = x + y + z; v = x; return; }
    action fwd(Port port) { s.egress_spec = port; exit; }
    @name("renamed") action other() { w = 2; }
    @name(".absolute") action absolute(Index i) { m.i = i; }
    table t1 {
        key = { h.h.a: exact; h.h.isValid(): ternary @name("valid"); h.h.c & 0xff: lpm; h.st[1].a: range; h.h.c[7:0]: optional; m.k: exact; }
        actions = { act(h.h.a, v); fwd; @defaultonly other; NoAction; absolute; }
        const default_action = other();
        counters = dc;
        size = 1024;
        support_timeout = true;
        const entries = {
            (1, true, 0x1200 &&& 0xff00, 1 .. 3, 5, Kind.A) : fwd(3);
            (2, _, _, _, _, Kind.B) : act(h.h.a, v, 7);
        }
    }
    table t2 {
        key = { h.h.b: ternary; h.h.a: selector; }
        actions = { fwd; NoAction; }
        implementation = sel;
        default_action = NoAction();
    }
    table t3 { key = { h.h.b: ternary; } actions = { fwd; other; } default_action = fwd(1);
        largest_priority_wins = false; priority_delta = 10;
        entries = { const priority = 10: 1 : fwd(1); 2 : fwd(2); _ : other(); } }
    table t4 { key = { h.h.b: exact; } actions = { fwd; }
       @name("inplace") implementation = action_profile(32w10); }
    table never { key = { h.h.a: exact; } actions = { unused; } }
    apply {
        const bit<8> LOCAL = TEN + 1;
        bit<8> a1 = 1;
        bit<8> a2;
        a2 = h.h.a + bump(a1) + a1;
        a2 = twice(bump(a1));
        m.gen = { one = 3, two = 4 };
        m.gen.one = same(m.gen.one);
        m.s = CS;
        m.s = { 1, 2, ... };
        m.tup = { h.h.a, h.h.c };
        a1 = m.tup[0];
        S sv = { a1, 5, false };
        if (sv == { 1, 2, true }) { a1 = 0; }
        if (a1 == 1 && set_it(a2) || h.h.isValid()) { a2 = LOCAL; }
        a1 = set_it(a2) ? 8w3 : a2;
        a1 = a1 > 3 ? a2 : 8w9;
        swap(h.st[a1].a, h.h.a);
        swap(h.h.a, h.h.b);
        a1[3:0] = 4w7;
        a1[3:0] += 1;
        a1 = a1[7:4] ++ a2[3:0];
        a2 <<= 2;
        a2 = dflt(a1);
        h.h.c = (bit<16>) a1 << 3;
        m.sg = (int<8>) a1;
        m.sg = -m.sg >> a1;
        s.egress_spec = (bit<9>)(bit<1>)h.h.isValid();
        h.st.push_front(1);
        h.st.pop_front(2);
        h.h.setInvalid();
        h.g = h.h;
        h.g = { 1, 2, 3 };
        h.g = (H){#};
        h.u.x.setValid();
        m.k = Kind.B;
        m.i = (Index) 5;
        m.col = Color.green;
        if (m.col == Color.red) return;
        if (s.parser_error == error.MyError) { mark_to_drop(s); }
        act(a1, 3, 4);
        other();
        c1.apply(h, m);
        c2.apply(h, m);
        D.apply(h.h.a);
        D.apply(v);
        if (t1.apply().hit) { w = 1; } else if (!t2.apply().miss) { w = 3; }
        switch (t3.apply().action_run) { fwd: other: { w = 4; } default: { w = 5; } }
        switch (a1) { 1: 2: { w = 6; } 3: { w = 7; } default: { w = 8; } }
        t4.apply();
        reg.read(m.n, (bit<32>) a1);
        reg.write(0, m.n + 1);
        cnt.count(3);
        bit<16> hashed;
        hash(hashed, HashAlgorithm.crc16, 16w0, { h.h.a, h.h.b, m.s.q }, 16w10);
        random(hashed, 16w0, 16w9);
        digest<S>(1, m.s);
        digest(1, { h.h.a, m.i });
        clone_preserving_field_list(CloneType.I2E, 32w5, 2);
        log_msg("value {}", { a1 });
        assert(a1 != 0);
        for (bit<8> k = 0; k < 4; k += 1) { if (k == 2) continue; a2 = a2 + k; if (k == 3) break; }
        for (bit<8> k in 1 .. a1) { a2 = a2 ^ k; }
        a1 = a1[a2 +: 4] ++ 4w0;
        a1[a2 +: 2] = 2w1;
        if (true) { v = 0; } else { v = 1; never.apply(); }
        exit;
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control K(inout headers h, inout meta m) { apply {
  update_checksum(h.h.isValid(), { h.h.a, h.h.b, 8w0 }, h.h.c, HashAlgorithm.csum16); } }
control VC(inout headers h, inout meta m) { apply { } }
control Dep(packet_out p, in headers h) { apply { p.emit(h); p.emit(h.st); } }
V1Switch(P(), VC(), I(), E(), K(), Dep()) main;
