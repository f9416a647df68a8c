// Values at compile time, and the types of values.

#include <core.p4>
header H {
    bit<8> a;
    bit<16> b;
    varbit<64> v;
}
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
    tuple<bit<8>, bool> t;
}
enum E { a, b, }
enum bit<4> SE { a = 1, b = 2, c = 1 + 2, }
enum int<8> SI { m = -1, z = 0 }
const SE sec = SE.c;
const bit<4> secv = SE.c;
const bit<8> wide = (bit<8>) (bit<4>) SE.a;
const SE back = (SE) 4w2;
const bool cb = SE.a == SE.b;
const int big = 1 << 100;
const int sl = 0xff;
const bit<8> z = 0xff - 1 * 2 / 1 % 7;
const int<8> neg = -128;
const tuple<bit<8>, bool> tu = { 8w1, true };
const bit<8> tu0 = tu[0];
struct S0 {
    bit<8> a;
    tuple<bit<8>, bit<8>> b;
}
const S0 s0 = { a = 1, b = { 2, 3 } };
const bit<8> s0b = s0.b[1];
const list<bit<8>> li = (list<bit<8>>) { 1, 2, 3 };
const list<tuple<bit<8>, bool>> lt = (list<tuple<bit<8>, bool>>) { {1, true}, {2, false}, };
const string str = "a" ++ "b";
const bit<12> cc = 4w1 ++ 8w2;
const bit<3> slice = 8w0xff[4:2];
const bool tt = 3 < 4 && 5 >= 4 || !(1 == 2);
const bit<8> cond = tt ? 8w1 : 2;
const error er = error.NoMatch;
const bit<(3 + 4)> bw = 1;
const bit<((8))> bw2 = 0;
control c(inout S s, inout bit<8> x, in error e) {
    bit<8> y = x;
    tuple<bit<8>, bool> t2 = { x, true };
    S0 st = { ... };
    S0 st2 = { a = 1, ... };
    apply {}
}
