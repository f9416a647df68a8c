// Functions that return instances of externs.

#include <core.p4>
extern gadget<T> { }
extern gadget<T> assemble<T, U>(U a, T b);
extern W2 {
    W2();
    bit<8> f(in bit<8> x);
}
extern W2 makeW2(bit<8> n);
header left_t {
    bit<8> a;
}
header right_t {
    bit<8> a;
    bit<8> b;
}
parser user()(gadget<left_t> w) {
    state start {
        transition accept;
    }
}
parser P();
package first(P w);
control cc(inout bit<8> x)(W2 w) {
    apply {
        x = w.f(x);
    }
}
control C(inout bit<8> x);
package second(C w);
W2() inst;
second(cc(inst)) m1;
second(cc(W2())) m2;
second(cc(makeW2(3))) m3;
