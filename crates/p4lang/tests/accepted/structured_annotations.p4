// Annotations that hold lists and pairs.

#include <core.p4>
typedef bit<9> P;
@SaiVal[type="sai_ip", default_value = "0", isresourcetype="true"] struct M {
    @SaiVal[skipattr="true"] bit<8> a;
    P p;
}
@SaiTable[name = "x", api = "y", stage = "a.b", order=0, isobject="true"] @SaiExtra[1, "a", true, 3 + 4] @Empty[] @Empty2() @kv[a=1, b="s", c=true, d = 1 + 2] @text(any (nested) [stuff] {here} ; , "str") control c(inout M m, @SaiVal[x="y"] in bit<8> z) {
    @SaiAction[skipattr="true"] action a(@SaiVal[type="t"] bit<8> x) {
        m.a = x;
    }
    @SaiTable[x="y"] table t {
        key = {
            m.a : exact @SaiVal[name = "q"] @name("w");
        }
        actions = {
            @x[1] a;
        }
        @x const default_action = a(1);
    }
    apply {
        t.apply();
        @atomic {
            m.a = 1;
        }
    }
}
