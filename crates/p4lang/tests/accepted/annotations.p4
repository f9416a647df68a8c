// Annotations wherever one can stand.

#include <core.p4>
@x @y(1) struct S {
    @z bit<8> a;
    @w(q) @v bit<8> b;
}
@a typedef bit<8> T;
@b const T k = 3;
@c type bit<8> N;
@d enum E { x, y }
@e enum bit<8> F { x = 1 }
@g extern X {
    @h X();
    @i @pure bit<8> m(@j in bit<8> q);
    @opt abstract void v(@k in bit<8> z);
}
@l extern void fn<Q>(@m in Q q);
@n action act(@o in bit<8> x, @p bit<8> y) {}
@q bit<8> fun(@r in bit<8> x) {
    return x;
}
@t parser pt(@u in bit<8> x);
@v control ct(@w in bit<8> x);
@y package pk(@z ct c);
@aa header H {
    @bb bit<8> a;
}
@cc header_union U {
    @dd H h;
}
@ee parser pr(packet_in p, out H h)(@ff bit<8> cp) {
    @gg value_set<bit<8>>(3) vs;
    @hh const bit<8> pc = 3;
    @ii bit<8> pv = 3;
    @jj state start {
        @kk bit<8> l = 3;
        @ll {
            l = 4;
        }
        transition select(l) {
            1: accept;
        }
    }
}
@mm control cc(in bit<8> x)(@nn bit<8> cp) {
    @oo const bit<8> q = 1;
    @pp bit<8> z = 1;
    @qq X() xi = { void v(in bit<8> z) {} };
    @rr action a(@ss bit<8> d) @tt { }
    @uu table t {
        key = {
            x : exact @ww;
            z : exact @xx @yy(1);
        }
        actions = {
            @a1 a;
            @a2 @a3(1) NoAction;
        }
        @a4 size = 3;
        @a5 const default_action = a(3);
        @a6 const entries = {
            (1, 2) : a(3) @a7;
            (2, 3) : NoAction @a9 @b1(x);
        }
        @b2 foo = 3;
    }
    apply @b3 {
        @b4 {
            z = 1;
        }
        @b5 bit<8> lv = 3;
        @b6 const bit<8> lc = 3;
        t.apply();
        @unroll for (bit<8> i = 0; i < 3; i = i + 1) {
            z = i;
        }
        @u2 for (bit<8> i in 1 .. 2) {
            z = i;
        }
    }
}
