// Expressions by type.

#include <core.p4>
enum E { a, b }
enum bit<8> SE { a = 1, b = 2 }
header H {
    bit<8> a;
    SE s;
    bool f;
    bit<7> pad;
}
struct In {
    bit<4> x;
    bit<4> y;
}
header HS {
    In i;
    bit<8> z;
    In j;
}
struct S {
    H h;
    H[2] st;
    HS hs;
    bit<8> x;
    E e;
    SE se;
    bool b;
    tuple<bit<8>, bit<8>> t;
    int<8> i;
    bit<8> y;
    error er;
}
bit<8> f(in bit<8> x = 4, in bit<8> y = 5) {
    return x + y;
}
bit<8> f2(bit<8> k, in bit<8> x) {
    return k + x;
}
control c(inout S s) {
    action da(in bit<8> x = 3, bit<8> y = 4) {
        s.x = x + y;
    }
    bit<8> v;
    apply {
        v = s.x << 8s2;
        v = s.x >> 1w1;
        s.i = s.i >> 1;
        v = 8w1 << s.x;
        v = (8w1 << s.x)[7:0];
        v = s.se;
        v = s.se + 1;
        v = (bit<8>) s.se;
        s.se = (SE) s.x;
        s.se = (SE) 5;
        if (s.se == 1) {} if (s.se == s.x) {} if (s.x == s.se) {} if (s.e == E.a) {} if (s.se == SE.a) {} if (s.t == {1, 2}) {} if (s.h == {1, SE.a, true, 0}) {} if ({s.x, s.y} == {s.y, s.x}) {} if (s.h == s.st[0]) {} if (s.st != s.st) {}     if (s.se < 3) {} if (s.i < -3) {} if (s.b == true) {} if (s.er == error.NoError) {} if (s.er != error.NoMatch && !(s.b)) {}     switch (s.e) { E.a: {} E.b: {} default: {} } switch (s.se) { SE.a: {} SE.b: {} } switch (s.b) { true: {} false: {} } switch (s.er) { error.NoError: {} error.NoMatch: { } default: {} } switch (s.x) { 1: 2: 3: {} SE.a: {} default: {} } switch (s.i) { -1: {} 8s3: {} }     switch (s.x) { } switch (s.x) { default: {} } switch (s.x) { 0: }     v = f();
        v = f(1);
        v = f(y = 3);
        v = f2(3, v);
        da();
        da(3);
        da(y = 5, x = v);
        v = true ? s.x : 8w3;
        v = s.b ? 8w1 : 2;
        v = s.b ? 1 : 8w2;
        s.h = s.b ? s.h : s.st[0];
        s.t = s.b ? s.t : s.t;
        s.hs.i = s.b ? s.hs.i : s.hs.j;
        s.t = {1, 2};
        s.e = s.b ? E.a : E.b;
        s.hs = { {1, 2}, 3, {4, 5} };
        s.hs = { i = { x = 1, y = 2 }, z = 3, j = { 4, 5 } };
        s.hs.i = { y = 1, x = 2 };
        s.hs.i.x = 3;
        s.hs = { z = 3, ... };
        s.st = { {1, SE.a, true, 0}, {2, SE.b, false, 1} };
        s.st = (H[2]) { {1, SE.a, true, 0}, {2, SE.b, false, 1} };
        s.st = { s.h, ... };
        s.st[1] = {#};
        s.st = { s.h, {#} };
        v = s.x[s.hs.minSizeInBits() - 17:0];
        v = s.x;
        v = s.h.minSizeInBytes();
        v = (bit<8>) s.st.size;
        bit<16> w = s.x ++ s.se;
        w = s.se ++ s.se;
        int<8> sg = (int<8>) s.x;
        v = (bit<8>) s.i;
        sg = -sg;
        sg = sg + 1;
        sg = sg * -1;
        sg = sg |-| 5;
        sg = ~sg;
        bit<1> b1 = (bit<1>) s.b;
        s.b = (bool) b1;
        s.b = (bool) s.x[0:0];
        s.b = b1 == 1;
        int<16> sx = (int<16>) sg;
        sx = sg ++ sg;
        v = sg[7:0];
        sg[3:0] = 4;
        v = s.x / 2;
        v = s.x % 4;
        v = s.x / s.y;
        v = 5;
        v = 300;
        v = -1;
        v = 8w5 + 3 * 2 - 1;
        v[7:4] = s.x[3:0];
        v[0:0] = (bit<1>) s.b;
        v = s.x & 0xf | 1;
        v = s.x[3+:4] ++ 4w1;
        v[1+:2] = 3;
        v = s.x ^ ~s.x;
        s.h.setValid();
        s.b = s.h.isValid();
        s.hs.setInvalid();
        s.h.f = true;
        s.h.f = (bool) 1w1;
        s.h.s = SE.a;
        s.i = 8s127;
        s.i = -128;
    }
}
