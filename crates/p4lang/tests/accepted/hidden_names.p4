// Names that hide others, types and values of the same name.

#include <core.p4>
header H {
    bit<8> a;
    bit<8> b;
}
struct ethernet_t {
    H H;
    bit<8> c;
}
typedef bit<8> T;
const T k = 1;
T f(in T x) {
    return x;
}
struct S {
    H h;
    ethernet_t ethernet_t;
    T T;
    bit<8> f;
    bit<8> error_;
    bit<8> exact;
    bit<8> list;
}
action NoAct() {}
control c(inout S s, inout H H, in bit<8> x, in bit<8> y, in bit<8> z) {
    T t = .k;
    .T t2 = .f(.k);
    bit<8> exact = 3;
    bit<8> lpm = 4;
    .H hh;
    ethernet_t ethernet_t;
    const bit<8> T0 = 5;
    action a() {
        H.a = 1;
        ethernet_t.H.a = 2;
        ethernet_t.c = T0;
    }
    table tt {
        key = {
            H.a : exact;
            exact : lpm;
            s.exact : exact;
        }
        actions = {
            a;
            .NoAct;
            .NoAction;
        }
        default_action = .NoAct();
    }
    apply {
        bool b;
        b = x < y && z > (x);
        b = x < y || (y) > (z);
        b = (x) < (y);
        t = (T) (x) + 1;
        t = (T) x + (T) y;
        t = (T) -x;
        t = (T) ~x;
        t = (x) - 1;
        t = (x) + (y);
        t = -(x);
        b = (bool) 1w1 == true;
        t = x >> 1 >> 2;
        t = x << 1 << 1;
        b = x < (y);
        b = !(x < y) && !(z > y);
        t = (bit<8>) (bit<4>) x;
        t = s.T;
        s.T = t;
        s.f = f(s.f);
        s.ethernet_t.H.a = 1;
        t = x * (y) - z;
        t = (x & y) | (z ^ x);
        b = x == y == (z == x);
        b = x != y && y != z;
        b = x <= y && y >= z;
        t = b ? x : b ? y : z;
        t = b ? b ? x : y : z;
        {
            bit<8> T = 5;
            T = T + 1;
            t = T;
        }
        {
            bit<8> f = 3;
            f = f;
        }
        {
            bit<8> t2 = t2 + 1;
            t = t2;
        }
        b = x < y;
        b = f(x) < f(y);
        b = s.f < s.T;
        t = s.f > x ? x : y;
        b = (x < y) == (y > z);
        b = (x) > y;
        tt.apply();
    }
}
