// Functions, methods, constructors and packages of one name.

#include <core.p4>
control proto();
package top(proto p);
package top(proto p1, proto p2);
extern E {
    E();
    E(bit<8> a);
    E(bit<8> a, bit<8> b);
    void f();
    void f(in bit<8> a);
    void f(in bit<8> a, in bit<8> b);
    void g(in bit<8> x);
    void g(in bit<16> y);
}
extern void h();
extern void h(in bit<8> a);
bit<8> q(in bit<8> a) {
    return a;
}
bit<8> q(in bit<8> a, in bit<8> b) {
    return a + b;
}
control c() {
    E() e0;
    E(1) e1;
    E(1, 2) e2;
    apply {
        e0.f();
        e0.f(1);
        e0.f(1, 2);
        e1.g(x = 8w1);
        e1.g(y = 16w1);
        h();
        h(3);
        bit<8> z = q(1) + q(1, 2);
        z = q(a = 1) + q(b = 2, a = 3);
    }
}
top(c(), c()) main;
top(c()) other;
