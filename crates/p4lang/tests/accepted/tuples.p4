// Tuples and what they may hold.

#include <core.p4>
match_kind { mine }
const tuple<match_kind> once = { exact };
const tuple<match_kind, bit<8>> twice = { mine, 3 };
typedef match_kind MK;
const tuple<int, bit<8>> ti = { 5, 6 };
const bit<8> fi = ti[0];
const int ii = ti[0];
header H {
    bit<8> a;
}
struct S {
    tuple<H[3]> n;
    tuple<H, bit<8>> m;
    H[3] st;
    tuple<tuple<bit<8>, bit<8>>, bool> tt;
}
bit<8> f(bit<8> t1) {
    tuple<int> t = { t1 };
    return t[0];
}
bit<8> g(in bit<8> t1) {
    tuple<bit<8>> t = { t1 };
    return t[0];
}
control c(inout S s, inout bit<8> x) {
    apply {
        s.n[0][0].a = 1;
        s.m[0].a = 3;
        s.m[1] = 3;
        x = s.n[0][1].a;
        s.tt[0][1] = 4;
        x = s.tt[0][0];
        x[3:0] = s.m[1][7:4];
        s.m = { s.st[0], 3 };
        s.n[0] = s.st;
        s.m[0].setValid();
        if (s.m[0].isValid()) {}
        tuple<int, int> q = { 1, 2 };
        x = q[0];
    }
}
parser p(packet_in b, inout S s) {
    state start {
        b.extract(s.st.next);
        transition select(s.st.next.a) {
            0: start;
            1: n;
            _: accept;
        }
    }
    state n {
        b.extract(s.m[0]);
        b.extract(s.n[0].next);
        transition accept;
    }
}
