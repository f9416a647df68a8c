// Parsers, value sets, subparsers.

#include <core.p4>
struct F2 {
    bit<8> a;
    bit<16> b;
}
error { Custom }
error { Custom2, Custom3 }
header F {
    bit<8> a;
    bit<16> b;
}
header V {
    bit<8> len;
    varbit<256> v;
}
header_union U {
    F f;
    V v;
}
struct S {
    F f;
    F[4] st;
    U u;
    V v;
}
parser sub(packet_in p, out F f)(bit<8> k) {
    state start {
        p.extract(f);
        transition select(f.a) {
            k: accept;
            default: reject;
        }
    }
}
parser gp(packet_in p, out S s, inout bit<8> m) {
    sub(3) sp;
    sub(4) sp4;
    value_set<bit<8>>(4) vs;
    value_set<tuple<bit<8>, bit<16>>>(4) vt;
    @name("vvv") value_set<F2>(4) vf;
    const bit<8> K = 5;
    bit<8> loc = K;
    state start {
        sp.apply(p, s.f);
        p.extract(s.f);
        p.extract(s.st.next);
        p.extract<F>(_);
        p.extract(s.v, (bit<32>) s.f.a * 8);
        p.advance(8);
        p.advance((bit<32>) (s.f.a << 3));
        loc = p.lookahead<bit<8>>();
        F la = p.lookahead<F>();
        verify(loc == 3, error.NoMatch);
        verify(true, error.Custom);
        if (loc == 3) {
            loc = 4;
    } else loc = 5;
        {
            bit<8> q = 3;
            loc = q;
        };
        transition select(loc, s.f.b, s.f.isValid()) {
            (vs, 3, true): n1;
            (1, 2, _): n2;
            (_, 0x800 .. 0x900, false): n2;
            (_, _, _): accept;
        }
    }
    state n1 {
        transition select(loc) {
            vs: accept;
            1: n1;
            K: n2;
            error.NoError == error.NoMatch ? 8w1 : 2: reject;
        }
    }
    state n2 {
        s.st[0].setValid();
        transition select(s.f.a, s.f.b) {
            vt: accept;
            vf: accept;
            {1, 2}
            : reject;
            default: n3;
        }
    }
    state n3 {
        transition select(p.lookahead<bit<16>>()[7:0]) {
            0: accept;
        }
    }
    state n4 {
        m = m + 1;
        p.extract(s.st.next);
        transition select(s.st.last.a) {
            0: accept;
            _: n4;
        }
    }
    state n5 {
        transition select((bit<8>) s.st.lastIndex) {
            0 .. 3: accept;
            default: n4;
        }
    }
    state n6 {
        bit<8> x;
        p.extract(s.u.f);
        transition select(s.u.isValid()) {
            true: accept;
            false: n5;
        }
    }
    state drop { }
}
