// Values of composite variables.

#include <core.p4>
typedef bit<16> Kind;
enum Kind Kinds { first = 7, second = 9 }
enum bit<2> Ix { a = 0, b = 1 }
header h_t {
    bit<4> a;
}
header Tagged {
    Kinds type;
}
struct P {
    bit<8> x;
    h_t h;
}
struct N {
    P p;
    h_t[2] s;
}
bit<4> nibble() {
    return 4w0;
}
h_t mkh() {
    return { 3 };
}
void sd(in P p, out P q) {
    q = p;
}
parser prs(packet_in p, out Tagged e, inout h_t[4] st)() {
    Ix i = Ix.a;
    state start {
        p.extract(e);
        transition select(e.type) {
            (Kinds.first): accept;
            Kinds.second: n;
            16w5: n;
            0x806: n;
            Kinds.first &&& 0xff: n;
            _: reject;
        }
    }
    state n {
        st[i].a = 1;
        st[Ix.b] = { 2 };
        transition accept;
    }
}
control C(inout h_t[4] st, inout N n) {
    h_t[1] arr0 = { { 1 } };
    Ix ix = Ix.b;
    action a() {}
    table t {
        actions = {
            a();
        }
        default_action = a();
    }
    apply {
        h_t[1] arr = { (h_t) { nibble() } };
        h_t[2] ar2 = { { nibble() }, mkh() };
        N m = { { 1, { nibble() } }, { { 1 }, { 2 } } };
        N m2 = { p = { x = 1, h = { nibble() } }, s = { { 1 }, mkh() } };
        N m3 = (N) { s = (h_t[2]) { { 1 }, { 2 } }, p = (P) { x = 1, h = (h_t) { 3 } } };
        n = m;
        n.s = ar2;
        st[ix].a = arr[0].a;
        st[(bit<2>) ix] = mkh();
        P q;
        sd({ 1, { 2 } }, q);
        sd({ x = 1, h = mkh() }, q);
        sd((P) { h = { 3 }, x = 4 }, q);
        sd(n.p, n.p);
        n = { ... };
        n = { p = { ... }, ... };
        n.s = { ... };
        n.s = { { 1 }, ... };
        P[2] pa;
        pa[0] = n.p;
        pa[1].h.a = 3;
        bit<8>[4] ba;
        ba[n.p.x] = 3;
        n.p.x = ba[1];
        ba = { 1, 2, 3, 4 };
        bool[2] bb = { true, false };
        if (n.p.h.isValid() == bb[1]) {
            t.apply();
        }
        tuple<h_t, bit<8>[4]> tp = { mkh(), ba };
        n.p.x = tp[1][2];
    }
}
