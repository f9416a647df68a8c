// Type parameters of types, externs, functions, parsers, controls and packages.

#include <core.p4>
struct S<T> {
    T x;
    bit<8> y;
}
header H<T> {
    T x;
    bit<8> y;
}
header_union U<A, B> {
    A a;
    B b;
}
typedef S<bit<8>> SB;
typedef S<S<bit<8>>> SSB;
typedef H<bit<16>>[3] HS;
struct All {
    SB a;
    SSB b;
    HS c;
    U<H<bit<8>>, H<bit<16>>> u;
    S<tuple<bit<8>, SB>> t;
}
const SB k = { 1, 2 };
const SSB kk = { x = { x = 1, y = 2 }, y = 3 };
const SB k3 = (S<bit<8>>) { x = 1, y = 2 };
extern E<T> {
    E();
    E(T init);
    T get();
    void put(in T t);
    R conv<R>(in T t, in R r);
    void mix<A, B>(in A a, out B b);
}
extern E2<T, U> {
    E2(T t, U u);
    tuple<T, U> both();
}
extern void gf<T>(in T t);
extern T gr<T>(in T t);
extern void go<T>(out T t);
extern R gg<R, T>(in T t);
parser P<H_>(packet_in p, out H_ h);
control C<H_, M>(inout H_ h, inout M m);
control D<H_>(packet_out o, in H_ h);
package Pk<H_, M>(P<H_> p, C<H_, M> c, D<H_> d);
package Wrap<A>(A a, bit<8> n);
parser p(packet_in p, out All h) {
    state start {
        p.extract(h.c.next);
        p.extract<H<bit<8>>>(h.u.a);
        transition accept;
    }
}
control c(inout All h, inout SB m) {
    E<bit<8>>() e;
    E<SB>({1, 2}) es;
    E<bit<8>>(5) e5;
    E2<bit<8>, bool>(3, true) e2;
    E<tuple<bit<8>, bool>>() et;
    E<_>(8w4) eu;
    E(8w3) ei;
    apply {
        bit<8> v = e.get();
        e.put(v);
        es.put({v, v});
        es.put({ x = 1, y = v });
        v = e.conv<bit<8>>(v, 3);
        bool bb;
        e.mix(v, bb);
        e.mix<bit<8>, bool>(v, bb);
        gf(v);
        gf({v, 3w1});
        gf<tuple<bit<8>, bit<3>>>({v, 1});
        gf({ a = v, b = 8w3 });
        gf(h.a);
        v = gr(v);
        v = gr<bit<8>>(3);
        go(v);
        go<bit<8>>(v);
        v = gg<bit<8>, SB>(h.a);
        v = gg<bit<8>, _>(h.a);
        go<bit<3>>(_);
        tuple<bit<8>, bool> tt = e2.both();
        et.put({1, true});
        et.put(tt);
        v = tt[0];
        bb = tt[1];
        h.b.x.x = 1;
        h.t.x[1].x = 3;
        h.t.x = { 1, {2, 3} };
        h.c[0] = { 1, 2 };
        h.a = m;
        if (h.a == m && h.a == k) {}     v = eu.get();
        v = ei.get();
        if (h.a == {1, 2}) {}      if (m == (SB) { x = 1, y = 2 }) {}
    }
}
control d(packet_out o, in All h) {
    apply {
        o.emit(h.c);
        o.emit(h.u);
        o.emit(h.u.a);
        o.emit<HS>(h.c);
    }
}
Pk(p(), c(), d()) main;
Pk<All, SB>(p(), c(), d()) m2;
Pk<All, _>(p(), c(), d()) m3;
Pk<_, _>(p = p(), d = d(), c = c()) m4;
Wrap(Pk(p(), c(), d()), 3) w;
Wrap(c(), 3) w2;
