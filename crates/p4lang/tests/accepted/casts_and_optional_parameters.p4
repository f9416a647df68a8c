// Casts among new types, enums and numbers; optional parameters.

#include <core.p4>
enum bit<8> A { x = 1 }
enum bit<8> B { y = 1, z = A.x }
type bit<8> N;
type N NN;
typedef N TN;
type bool BL;
struct S {
    bit a;
    int<2> b;
    N n;
    BL bl;
    varbit<8> vb;
    match_kind mk;
}
header H {
    bit a;
    bit<7> b;
    N n;
    BL q;
    bit<7> r;
    A e;
}
struct G<T> {
    T t;
    H h;
}
extern X<T> {
    X(@optional T t);
    void f<U>(@optional in U u, @optional out T t);
    T g();
}
extern void eo<T>(@optional in T t, in bit<8> z);
control CT<T>(inout T t);
package PK<T, U>(@optional X<T> x, @optional CT<U> c, bit<8> n);
control c(inout H h, inout bit<8> v, inout A a, inout B b, inout N n) {
    X<bit<8>>() x1;
    X<bit<8>>(3) x2;
    X(8w3) x3;
    X<_>(8w2) x4;
    bit one;
    bit two = 1;
    apply {
        one = two;
        one = h.a;
        b = (B) a;
        a = (A) b;
        v = (bit<8>) a;
        a = (A) v;
        a = (A) 8w7;
        a = (A) 1;
        v = (bit<8>) n;
        n = (N) v;
        n = (N) 3;
        NN nn = (NN) n;
        n = (N) nn;
        TN tn = n;
        n = tn;
        n = 5;
        h.n = n;
        h.q = (BL) true;
        bool bb = (bool) h.q;
        h.q = (BL) (v == 3);
        if (n == (N) 3) {} if (h.n == n) {} x1.f(v);
        x1.f();
        x1.f(u = v, t = v);
        x1.f(t = v, u = 16w3);
        x1.f<bit<3>>(2, v);
        eo(z = v);
        eo(v, v);
        eo<bit<4>>(1, v);
        v = x3.g() + x4.g();
        G<bit<8>> g;
        g.t = v;
        g.h = h;
        G<G<bit>> gg = { { 1, h }, h };
        gg.t.t = one;
        g = { t = v, h = h };
        h = { 1, 2, n, (BL) true, 3, A.x };
        h = { a = 1, b = 2, n = (N) 3, q = (BL) false, r = 1, e = A.x };
        v = (bit<8>) (int<8>) v;
        v = (bit<8>) (bit<16>) (bit<4>) v;
        int<8> s = (int<8>) v;
        s = (int<8>) (int<4>) s;
        one = (bit) bb;
        one = (bit<1>) bb;
        bb = (bool) one;
        v = (bit<8>) 3;
        bit<8> q = (bit<8>) (3 + 4);
        s = (int<8>) -3;
        bb = (bool) 1;
        bb = (bool) 0;
        const int K = (int) 8w3;
        v = K;
        if (a == b) {} if (a == A.x && b == B.y) {} if (a == 1) {} v = a & b;
        v = a ++ b == 16w3 ? 8w1 : 2;
        v = ~a;
        v = v[A.x:0] ++ 6w1;
        v[A.x:A.x] = 1;
        v = v << a;
        v = 1 << 3;
    }
}
control c2(inout bit<8> x) { apply {} }
PK<_, _>(n = 3) p1;
PK<bit<8>, bit<8>>(c = c2(), n = 4) p2;
PK(c = c2(), n = 3) p3;
PK<bit<8>, _>(X<bit<8>>(), _, 3) p4;
PK<_, bit<8>>(_, c2(), 5) main;
