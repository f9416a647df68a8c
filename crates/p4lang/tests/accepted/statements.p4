// Statements, calls and arguments.

#include <core.p4>
header F {
    bit<8> a;
    bit<16> b;
}
header_union U {
    F f;
    F g;
}
struct S {
    F f;
    F[4] st;
    U u;
    U[2] us;
}
struct T2 {
    S s;
    bit<8> w;
}
extern bit<8> ef(in bit<8> a, @optional in bit<8> b, @optional out bit<8> c);
extern void eg<T>(in T t = 8w3);
extern void eh(in bit<8> a = 1, in bit<8> b = 2);
extern T ei<T>(in T t);
extern void vd();
bit<8> max(in bit<8> a, in bit<8> b) {
    if (a > b) return a;
    return b;
}
T id<T>(in T t) {
    return t;
}
void nothing() {
    return;
}
bool isv(in F f) {
    return f.isValid();
}
control c(inout S s, inout bit<8> x, in error e) {
    bit<8> y = x;
    T2 t2;
    F[4] loc;
    action act(inout bit<8> p, in bit<8> q, bit<8> r) {
        p = q + r;
        return;
    }
    action none() {
        exit;
    }
    apply {
        y = ef(x);
        y = ef(a = x, c = y);
        y = ef(c = _, a = x);
        eh();
        eh(1);
        eh(b = 3);
        eh(b = x, a = y);
        eg(x);
        eg<bit<4>>(3);
        eg<S>(s);
        y = ei<bit<8>>(5);
        y = id(x) + id<bit<8>>(3);
        y = max(max(1, 2), x);
        nothing();
        act(y, x, 3);
        act(p = y, r = 3, q = x);
        s.st[0] = { 1, 2 };
        s.st[x] = s.st[1];
        s.st.push_front(1);
        s.st.pop_front(2);
        s.f.setValid();
        s.f.setInvalid();
        s.f = (F) { a = 1, b = 2 };
        s.f = { 1, 2 };
        s.f = {#};
        s.f = (F) {#};
        s.u = {#};
        s.u = (U) {#};
        s.u.f = s.f;
        s.u.g.setValid();
        if (s.u.isValid()) {}
        if (s.f == s.f) {}     if (s.st == s.st) {}     if (s.u == s.u) {}     if (s == s) {}     if (e == error.NoError || e != error.PacketTooShort) ;
        y[3:0] = x[7:4];
        y[0:0] = 1;
        y = x ++ y[7:8-8] == 16w0 ? 8w0 : x;
        y = (bit<8>) (bit<4>) x;
        y = x << 3;
        y = x >> y;
        y = x << x[1:0];
        y = x |+| y;
        y = x |-| y;
        y = -x;
        y = ~x;
        y = +x;
        y += 1;
        y -= x;
        y *= 2;
        y /= 2;
        y %= 3;
        y <<= 1;
        y >>= 1;
        y &= 3;
        y |= 4;
        y ^= 5;
        y |+|= 3;
        y |-|= 3;
        y[3:0] += 1;
        loc = s.st;
        loc[2].a = 4;
        t2 = { s, x };
        t2 = { s = s, w = x };
        t2 = (T2) { s = s, w = x };
        bool b = s.f.isValid() && isv(s.f);
        bit<32> sz = F.minSizeInBits() + (bit<32>) s.f.minSizeInBytes() + s.f.maxSizeInBits() + F.maxSizeInBytes() + s.st.size;
        switch (x) {
            1: 2: {
                y = 1;
            }
            8w3: {
                y = 2;
            }
            default: {
                y = 3;
            }
        }
        switch (x + 1) { (1 + 2): {} }
        for (bit<8> i = 0; i < 10; i = i + 1) {
            y = y + i;
            if (i == 3) continue;
            if (i == 4) break;
        }
        for (bit<8> i = 0, bit<8> j = 3; i < j; i += 1, j -= 1) {
            y = i;
        }
        for (bit<8> i in 1 .. 5) {
            y += i;
        }
        for (;x < 3;) {
            x += 1;
        }
        for (F f in s.st) {
            y = f.a;
        }
        {
            const bit<8> k = 4;
            bit<8> y = k;
        };
        return;
    }
}
