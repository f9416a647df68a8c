// What `select` looks at and its cases.

#include <core.p4>
enum E { a, b }
enum bit<8> SE { a = 1, b = 2 }
struct K {
    bit<8> x;
    bit<8> y;
}
type bit<8> N;
const K kc = { 1, 2 };
const tuple<bit<8>, bit<8>> tc = {3, 4};
const bit<8> c8 = 5;
header H {
    bit<8> a;
    bit<8> b;
}
struct S {
    H h;
    H[3] st;
    bit<8> x;
    bool f;
    tuple<bit<8>, bit<8>> t;
    E e;
    SE se;
    int<8> i;
}
parser p(packet_in b, inout S s, in N n) {
    const bit<8> lc = 7;
    value_set<K>(3) vk;
    value_set<bit<8>>(2) v8;
    value_set<tuple<bit<8>, bool>>(3) vt;
    value_set<SE>(3) ve;
    state start {
        transition select({s.x, s.h.a}, s.f) {
            ({1, 2}, true): s1;
            (_, false): s3;
            default: accept;
        }
    }
    state s1 {
        transition select(s.x, s.h.a) {
            {1, 2}
            : s2;
            (1, 2): s2;
            vk: s3;
            tc: s3;
            kc: s1;
            (lc, c8): s2;
            _: reject;
        }
    }
    state s2 {
        transition select(s.se) {
            SE.a: s3;
            ve: s1;
            2: s4;
            SE.a .. SE.b: s1;
            SE.b &&& 3: s4;
            default: s1;
        }
    }
    state s3 {
        transition select(s.e) {
            E.a: accept;
            E.b: s4;
        }
    }
    state s4 {
        transition select(s.f) {
            true: s5;
            _: accept;
        }
    }
    state s5 {
        transition select(s.t[0], s.i) {
            (1 .. 3, -1): s6;
            (_, -5 .. 5): s7;
            (v8, _) : s6;
        }
    }
    state s6 {
        transition select(s.x[7:4], s.x + 1, s.x == 3) {
            (1, 2, true): s7;
        }
    }
    state s7 {
        transition select(s.x) {
            1: s1;
            0x2 &&& 0xff: s2;
            (3): s3;
            (1 + 5): s5;
            8w9: s6;
            lc: s8;
            {10}
            : s8;
            default: reject;
            default: accept;
        }
    }
    state s8 {
        b.extract(s.st[0]);
        b.extract(s.st.next);
        s.x = s.st.last.a;
        transition select(s.st.lastIndex) {
            0: accept;
            1 .. 2: s9;
        }
    }
    state s9 {
        transition select((bit<8>) n) {
            1: accept;
        }
    }
}
