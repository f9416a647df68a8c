// Parameters that blocks and calls leave out.

#include <core.p4>
struct meta_t {
    bit<8> f0;
    bit<8> f1;
    bit<8> f2;
}
struct hdr_t { }
struct im_t {
    bit<8> f0;
}
control C<H, M>(inout H hdr, inout M meta, @optional in im_t intr, in bit<8> x = 77);
parser P<H>(packet_in b, out H h, @optional in im_t i);
package Pk<H, M>(P<H> p, C<H, M> c, @optional C<H, M> d);
control MyC2(in meta_t meta = { 0, 0, 0 }, in bit<8> q = 3 + 4) {
    table a {
        key = {
            meta.f0 : exact;
            q : exact;
        }
        actions = {
            NoAction;
        }
    }
    apply {
        a.apply();
    }
}
control Exact(inout bit<8> v) {
    table exact {
        key = {
            v : exact;
        }
        actions = {
            NoAction;
        }
    }
    table lpm {
        key = {
            v : lpm;
        }
        actions = {
            NoAction;
        }
    }
    apply {
        exact.apply();
        lpm.apply();
        if (exact.apply().hit) {}
    }
}
action foo(in bit<8> y = 5, bit<8> z = 6) {} parser sp(packet_in b, in bit<8> n = 3) {
    state start {
        transition select(n) {
            3: accept;
        }
    }
}
control MyC(inout hdr_t hdr, inout meta_t meta) {
    MyC2() c2;
    Exact() ex;
    action loc(in bit<8> d, bit<8> e = 4) {
        meta.f0 = d + e;
    }
    action noargs(bit<8> g = 1) {
        meta.f1 = g;
    }
    table t {
        key = {
            meta.f1 : exact;
        }
        actions = {
            loc(meta.f2);
            noargs;
            foo(meta.f0);
        }
        default_action = noargs(3);
        const entries = {
            1 : noargs(2);
            2 : loc(meta.f2, 3);
        }
    }
    apply {
        c2.apply();
        c2.apply({ 1, 2, 3 });
        c2.apply(q = 5);
        c2.apply(meta, 3);
        foo();
        foo(1);
        foo(z = 2);
        foo(1, 2);
        loc(1);
        loc(1, 2);
        noargs();
        ex.apply(meta.f0);
        t.apply();
        MyC2.apply(q = 3);
    }
}
control MyD(inout hdr_t hdr, inout meta_t meta, in im_t i) {
    apply {
        meta.f0 = i.f0;
    }
}
control MyE(inout hdr_t hdr, inout meta_t meta, in im_t i, in bit<8> x) { apply {} }
parser MyP(packet_in b, out hdr_t h) {
    sp() s;
    state start {
        s.apply(b);
        s.apply(b, 4);
        s.apply(n = 5, b = b);
        transition accept;
    }
}
parser MyP2(packet_in b, out hdr_t h, in im_t i) {
    state start {
        transition accept;
    }
}
Pk(MyP(), MyC()) m1;
Pk(MyP2(), MyD()) m2;
Pk(MyP(), MyC(), MyE()) m3;
Pk<hdr_t, meta_t>(p = MyP2(), d = MyC(), c = MyD()) main;
