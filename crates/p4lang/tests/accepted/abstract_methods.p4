// Externs whose methods the instance implements.

#include <core.p4>
header S {
    bit<16> size;
}
typedef bit<48> Eth;
extern Virtual {
    Virtual();
    abstract bit<16> f(in bit<16> ix);
    void run(in bit<16> ix);
}
extern State {
    State(int<16> size);
    bit<16> get(in bit<16> index);
}
extern Base {
    Base();
    abstract void on(inout bit<8> a);
    @optional abstract void off(in bit<8> x);
}
control c(inout bit<16> p) {
    Virtual() cntr = {
        bit<16> f(in bit<16> ix) {
            return (ix + 1);
        }
    };
    Virtual() cntr2 = {
        State(16s1024) state;
        bit<16> f(in bit<16> ix) {
            return state.get(ix);
        }
    };
    Virtual() cntr3 = {
        bit<16> f(in bit<16> ix) {
            bit<16> l = ix;
            if (ix == 3) {
                return 3;
        } else {
                l = l + 1;
            }
            return l;
        }
    };
    Base() b = {
        void on(inout bit<8> a) {
            a = a + 1;
        }
    };
    Base() b2 = {
        void on(inout bit<8> a) {
            return;
        }
        void off(in bit<8> x) { }
    };
    bit<16> q = 3;
    apply {
        cntr.run(6);
        cntr2.run(p);
        p = cntr3.f(p);
        bit<8> z = 3;
        b.on(z);
    }
}
