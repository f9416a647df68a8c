// Loops.

#include <core.p4>
control c() { apply {} }
parser p() { state start { } }
control ct();
parser pt();
package P();
package Q(ct c, pt p);
P() p0;
Q(c(), p()) main;
struct X {
    bit<8> a;
}
void g(in bit<8> n, out bit<8> r) {
    bit<8> i;
    r = 0;
    for (i = 0; i < n; i = i + 1) r = r + i;
    for (i = 0, r = 1; i < 3; i += 1) {
        if (i == 2) {
            break;
    } else {
            continue;
        }
    }
    for (bit<8> j = 1, i = 3; j < 3 && i > 0; j = j + 1, i -= 1) {
        for (bit<8> k in 0 .. j) {
            r += k;
        }
    }
    for (; i < 3;) {
        i = i + 1;
    }
    for (bit<8> m in (list<bit<8>>) { 1, 2, 3 }) {
        r = m;
    }
    for (int<8> m in -3 .. 3) {
        r = (bit<8>) m;
    }
    @foo for (bit<8> q = 0; q < 3; q = q + 1) ;
}
