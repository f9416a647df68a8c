// Methods that instances in parsers and controls implement.

#include <core.p4>
extern Ab {
    Ab();
    abstract bit<8> f(in bit<8> x);
    abstract void g(inout bit<8> y);
    bit<8> run(in bit<8> z);
}
header H {
    bit<8> a;
}
struct S {
    H h;
}
extern Cell<T> {
    Cell(T init);
    T get();
    void put(in T t);
}
parser p(packet_in b, out S s, inout bit<8> q) {
    Cell<bit<8>>(3) outer;
    Ab() ab = {
        Cell<bit<8>>(1) inner;
        bit<8> f(in bit<8> x) {
            switch (x) {
                1: {
                    return 5;
                }
                default: { }
            }
            if (x == 2) {
                return inner.get();
            }
            for (bit<8> i in 0 .. 3) {
                inner.put(i);
            }
            outer.put(x);
            return x + 1;
        }
        void g(inout bit<8> y) {
            bit<8> l = this.f(y);
            y = l;
            return;
        }
    };
    state start {
        q = ab.run(q);
        q = ab.f(q);
        ab.g(q);
        transition accept;
    }
}
control c(inout S s, inout bit<8> q) {
    action helper() {}
    Ab() ab = {
        bit<8> f(in bit<8> x) {
            return x > 3 ? x : 3;
        }
        void g(inout bit<8> y) {
            y = 3;
        }
    };
    apply {
        q = ab.run(ab.f(q));
    }
}
Ab() top_level = {
    bit<8> f(in bit<8> x) {
        return x;
    }
    void g(inout bit<8> y) { }
};
control d(inout bit<8> q)(Ab a) {
    apply {
        q = a.f(q);
    }
}
control e(inout bit<8> q) {
    d(top_level) dd;
    apply {
        dd.apply(q);
    }
}
