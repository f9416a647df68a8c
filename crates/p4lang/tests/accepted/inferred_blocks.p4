// Type arguments of nameless instances that only the package tells.

#include <core.p4>

parser Parse<T>(packet_in b, out T h);
control Filter<T>(inout T h, out bool accept);
extern Store<T> {
    Store(bit<32> size);
}
package Inner<T>(Filter<T> f, Store<T> s);
package Outer<T>(Parse<T> p, Inner<T> i);

struct H {
    bit<8> x;
}
parser P(packet_in b, out H h) {
    state start {
        h.x = 1;
        transition accept;
    }
}
control F<T>(inout T h, out bool accept) {
    apply {
        accept = true;
    }
}
Outer(P(), Inner(F(), Store(4))) main;
