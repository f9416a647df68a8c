// Packages of packages.

#include <core.p4>
parser Inner<T>(packet_in p, out T t);
control Proc<H, M>(inout H h, inout M m);
control Dep<H>(packet_out o, in H h);
package Pipe<H, M>(Inner<H> p, Proc<H, M> c, Dep<H> d);
package Sw<H1, M1, H2, M2>(Pipe<H1, M1> a, @optional Pipe<H2, M2> b);
extern Eng {
    Eng();
}
package Nic<H, M>(Pipe<H, M> p, Eng e = Eng(), bit<8> n = 2);
header one_t {
    bit<8> a;
}
header two_t {
    bit<16> b;
}
struct H1 {
    one_t x;
}
struct H2 {
    two_t y;
}
struct M1 {
    bit<8> m;
}
struct M2 {
    bit<16> m;
}
parser p1(packet_in p, out H1 h) {
    state start {
        p.extract(h.x);
        transition accept;
    }
}
parser p2(packet_in p, out H2 h) {
    state start {
        p.extract(h.y);
        transition accept;
    }
}
control c1(inout H1 h, inout M1 m) { apply {} }
control c2(inout H2 h, inout M2 m)(bit<8> k) {
    apply {
        m.m = (bit<16>) k;
    }
}
control d1(packet_out o, in H1 h) {
    apply {
        o.emit(h);
    }
}
control d2(packet_out o, in H2 h) {
    apply {
        o.emit(h);
    }
}
Pipe(p1(), c1(), d1()) pa;
Pipe<H2, M2>(p2(), c2(3), d2()) pb;
Pipe<_, _>(d = d2(), p = p2(), c = c2(k = 4)) pc;
Sw(pa, pb) s1;
Sw<H1, M1, H2, M2>(pa, Pipe(p2(), c2(1), d2())) s2;
Sw(a = pa) s3;
Sw<_, _, _, _>(pa) s4;
Nic(pa) n1;
Nic(pa, Eng()) n2;
Nic(p = pb, n = 5) n3;
Eng() eng;
Nic(pb, eng, 3) n4;
Sw(Pipe(p1(), c1(), d1()), pc) main;
