// Instances as arguments of constructors.

control simple(inout bit<8> x);
control C(inout bit<8> x);
package top(C c);
package top2(top t, C c);
package both(C a, @optional C b, bit<8> k = 3);
extern E {
    E(bit<8> x);
    bit<8> f();
}
extern G<T> {
    G(T t);
    T get();
}
control a(inout bit<8> x)(bit<8> k) {
    apply {
        x = x + k;
    }
}
control b(inout bit<8> x)(E e, bit<8> k) {
    a(k) i1;
    a(k + 1) i2;
    apply {
        i1.apply(x);
        i2.apply(x);
        x = e.f();
    }
}
control d(inout bit<8> x)(simple s) {
    apply {
        s.apply(x);
    }
}
control noarg(inout bit<8> x) {
    apply {
        x = 1;
    }
}
control e(inout bit<8> x) {
    d(noarg()) inner;
    b(E(3), 4) bi;
    E(5) my;
    b(my, 5) bj;
    G<bit<8>>(3) g;
    apply {
        inner.apply(x);
        bi.apply(x);
        bj.apply(x);
        noarg.apply(x);
        noarg.apply(x);
        x = g.get();
    }
}
E(3) ge;
control f(inout bit<8> x) {
    b(ge, 2) q;
    apply {
        q.apply(x);
        x = ge.f();
    }
}
top(e()) t1;
top(f()) t2;
top2(top(e()), f()) t3;
top2(c = a(3), t = t1) t4;
both(e()) b1;
both(a = e(), k = 5) b2;
both(e(), f(), 7) b3;
both(e(), _, 7) b4;
both(e(), _, _) b5;
top2(t1, a(k = 4)) main;
