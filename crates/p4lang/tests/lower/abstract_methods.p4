#include <core.p4>
extern Virtual { Virtual(); void run(in bit<16> x); abstract bit<16> f(in bit<16> x); bit<16> twice(in bit<16> x); }
extern Reg<T> { Reg(); T get(); void put(in T v); }
control c(inout bit<16> p) {
  Virtual() v = {
    Reg<bit<16>>() st;
    bit<16> f(in bit<16> x) { st.put(x); return x + this.twice(x); }
  };
  apply { p = v.f(p); v.run(p); }
}
control ctr(inout bit<16> x);
package top(ctr a, ctr b, bit<8> n = 3, @optional ctr z);
top(c(), c()) main;
