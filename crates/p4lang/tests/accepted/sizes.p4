// Sizes that are chosen at compile time.

#include <core.p4>
const bit<4> TOP = 15;
const bit<4> STILL_TOP = TOP |+| 1;
const int<5> MOST = 15;
const int<5> STILL_MOST = MOST |+| 3;
header empty_t { }
void unsigned(in empty_t[STILL_TOP == TOP ? 2 : 0 - 2] stack) { }
void signed(in empty_t[STILL_MOST == MOST ? 1 : 0 - 1] stack) { }
void computed(in empty_t[(TOP |+| TOP) == TOP ? 3 : 0 - 1] stack) { }
void logical(in empty_t[(true && !false) ? 3 : 0 - 1] stack) { }
bit<(TOP == 15 ? 8 : 4)> width(in bit<(4 + 4)> value) {
    return value;
}
void branch(bit<2> choice, out bit<8> chosen) {
    chosen = 0;
    switch (choice) {
        0b01: {
            chosen = 2;
        }
        0b10: {
            chosen = 3;
        }
    }
}
control C(out bit<8> y) {
    action one() {
        branch(1, y);
    }
    table t {
        actions = { one; }
        default_action = one;
    }
    apply {
        t.apply();
        y = width(y);
    }
}
control CT(out bit<8> y);
package Top(CT c);
Top(C()) main;
