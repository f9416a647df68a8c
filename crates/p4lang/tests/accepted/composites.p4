// Headers, stacks, unions, structs and what methods and functions do with them.

#include <core.p4>
enum bit<8> SE { a = 1 }
struct Pair {
    bit<8> x;
    bit<8> y;
}
header H {
    bit<8> a;
    bit<8> b;
}
header V {
    bit<8> n;
    varbit<64> o;
}
header_union U {
    H h;
    V v;
}
header EmptyH {}
struct EmptyS {}
typedef tuple<> Unit;
struct S {
    H h;
    H[4] st;
    U u;
    U[3] us;
    V v;
    V[2] vs;
    EmptyH eh;
    EmptyS es;
    bit<8> x;
    bit<16> y;
    Unit un;
}
Pair mk(in bit<8> a) {
    return { a, a };
}
H mkh() {
    return (H) { a = 1, b = 2 };
}
tuple<bit<8>, bit<16>> mkt(in bit<8> a) {
    return { a, 3 };
}
void outs(out bit<4> a, inout bit<4> b) {
    a = b;
    b = 1;
}
void ho(out H h) {
    h = { 1, 2 };
}
void hi(in H h) {}
bit<8> sw(in bit<8> x) {
    switch (x) {
        1: {
            return 2;
        }
        default: {
            return 3;
        }
    }
}
bit<8> lp(in bit<8> n) {
    bit<8> s = 0;
    for (bit<8> i in 0 .. n) {
        s = s + i;
        if (s > 100) return s;
    }
    return s;
}
bit<8> el(in bit<8> x) {
    if (x == 1) {
        return 1;
} else if (x == 2) return 2;
    else {
        return 3;
    }
}
parser sub(packet_in p, out H h, in H last) {
    state start {
        p.extract(h);
        transition accept;
    }
}
parser empty() {
    state start {
        transition accept;
    }
}
parser p(packet_in b, out S s) {
    sub() sb;
    empty() em;
    H loc;
    state start {
        s.x = b.lookahead<H>().a;
        s.y = b.lookahead<bit<16>>();
        bool q = b.lookahead<bool>();
        SE se = b.lookahead<SE>();
        Pair pr = b.lookahead<Pair>();
        tuple<bit<8>, bit<8>> tt = b.lookahead<tuple<bit<8>, bit<8>>>();
        s.x = b.lookahead<tuple<bit<8>, bit<8>>>()[1];
        s.x = b.lookahead<bit<16>>()[7:0];
        transition select(b.lookahead<H>().a, b.lookahead<H>().b, b.lookahead<bit<8>>()[3:0]) {
            (1, 2, 3): n1;
            default: n2;
        }
    }
    state n1 {
        b.extract(s.vs.next, 8);
        b.extract(s.st.next);
        sb.apply(b, s.st.next, s.st.last);
        sb.apply(b, s.u.h, s.st[0]);
        em.apply();
        b.extract(s.us.next.h);
        b.extract(s.us.next.v, 8);
        s.x = s.us.last.h.a;
        b.extract(loc);
        s.st[2] = loc;
        transition select(s.us.last.isValid(), s.st[1].isValid()) {
            (true, false): n2;
        }
    }
    state n2 {
        b.extract(s.v, (bit<32>) (s.x & 0x3f));
        b.extract(s.eh);
        s.es = {};
        s.un = {};
        empty.apply();
        b.length();
        bit<32> ll = b.length();
        b.advance(b.length() - 8);
        transition n3;
    }
    state n3 {
        s.x = mk(s.x).y;
        s.h = mkh();
        s.x = mkt(3)[0];
        hi(mkh());
        ho(s.st[3]);
        ho(s.h);
        s.x = s.h.isValid() ? 8w1 : 0;
        s.x = sw(lp(el(3)));
        transition accept;
    }
}
control c(inout S s, in bit<2> i) {
    Unit uv = {};
    tuple<> u2;
    action a() {}
    action b(inout bit<4> q) {}
    table t {
        key = {
            s.st[0].isValid() : exact;
            s.st[1].a : exact;
            s.u.h.isValid() : exact;
            s.u.isValid() : exact @name("u");
            s.x[3:0] : ternary;
            s.st[i].a : exact @name("dyn");
        }
        actions = {
            a;
            b(s.x[3:0]);
        }
        default_action = a;
    }
    apply @atomic {
        outs(s.x[3:0], s.x[7:4]);
        s.st[i].setValid();
        s.st[i].a = 3;
        s.x = s.st[i].b;
        if (s.st[i].isValid() && s.st[i + 1].a == 3) {
            s.st[i] = s.st[0];
        }
        ho(s.st[i]);
        ho(_);
        outs(_, s.x[3:0]);
        b(s.x[3:0]);
        s.us[1].h.a = 3;
        s.us[i].v.setValid();
        bit<8> z = mk(1).x + mk(2).y;
        if (mk(s.x) == mk(s.x)) {} if (mkh() == s.h) {} if (mkh().isValid()) {} bool hh = t.apply().hit;
        z = t.apply().hit ? 8w1 : 2;
        if (t.apply().miss || hh) {}
        s.v = s.vs[0];
        if (s.v.o == s.vs[0].o) {} s.v.o = s.vs[1].o;
        s.vs[0] = { 3, s.v.o };
        s.un = uv;
        u2 = s.un;
        if (uv == u2) {} s.es = {};
        s.x = s.y[15:8];
        s.y = s.y[7:0] ++ s.y[15:8];
        s.x = (s.y)[7:0];
        s.x = (s.y + 1)[7:0];
        s.x = (s.x ++ s.x)[11:4];
    }
}
