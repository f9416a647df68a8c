// Keys, actions, properties and entries of tables.

#include <core.p4>
enum bit<8> SE { a = 0, b = 1 }
enum E { x, y }
struct M {
    bit<8> a;
    bit<16> b;
    bool f;
    error e;
    int<8> i;
    SE se;
    E en;
    varbit<8> vb;
}
match_kind { range, optional, selector, mine }
match_kind { mine2 }
extern impl {
    impl(bit<32> n);
}
extern counter {
    counter(bit<8> t);
}
action ga(inout bit<8> x, bit<8> d) {
    x = d;
}
control c(inout M m) {
    action a2() {}
    const bit<8> SEx = 5;
    impl(3) ii;
    bit<8> loc;
    action a() {}
    action b(bit<8> x) {
        m.a = x;
    }
    action cc(in bit<8> p, bit<8> q) {
        m.a = p + q;
    }
    action dd(out bit<8> o) {
        o = 1;
    }
    action ee(inout bit<8> o, in bool f, bit<16> z) {
        o = f ? o : 2;
    }
    action nest(bit<8> x) {
        b(x);
        ga(loc, x);
        a();
        if (x == 3) {
            cc(1, 2);
    } else {
            return;
        }
    }
    table t1 {
        key = {
            m.a : exact;
            m.b : lpm;
            m.f : exact;
            m.i : ternary;
            m.se : exact;
            m.en : exact;
            m.e : exact;
            m.a + 1 : range @name("x");
            m.b[3:0] : optional;
            m.a == 3 : exact @name("y");
            (bit<4>) m.a : mine @name("z");
            { m.a } == {8w3}
            : mine2 @name("w");
        }
        actions = {
            a;
            b;
            cc(loc);
            dd(loc);
            ee(m.a, m.f);
            nest;
            ga(m.a);
            @defaultonly NoAction;
            @tableonly a2;
        }
        default_action = b(3);
        size = 1024;
        implementation = ii;
        counters = counter(3);
        prop = "str";
        prop2 = true;
        prop3 = { 1, 2 };
        const prop4 = 3 + 4;
        @foo("x") prop5 = m.a;
    }
    table t2 {
        actions = {
            b;
        }
        const default_action = b(1);
    }
    table t3 {
        key = { } actions = {
            a;
        }
    }
    table t4 {
        key = {
            m.a : exact;
        }
        actions = {
            a;
            NoAction;
        }
        default_action = NoAction();
        implementation = impl(32);
    }
    table t5 {
        key = {
            m.a : ternary;
            m.b : lpm;
            m.i: range;
            m.f : optional;
            m.se : exact;
            m.en : exact;
            m.e : exact;
        }
        actions = {
            a;
            b;
            cc(loc);
        }
        entries = {
            priority = 9 : (1 &&& 3, 0x1234 &&& 0xff00, -1 .. 5, true, SE.a, E.x, error.NoError) : a;
            priority = 3 : (_, _, _, _, _, _, _) : b(3) @name("n");
            (1, default, 3, false, _, E.y, _) : cc(loc, 4);
            priority = (1 + 2) : (0xff, 5, 3 .. 4, _, SE.b, _, error.NoMatch): a();
        }
        largest_priority_wins = false;
        priority_delta = 10;
    }
    table t6 {
        key = {
            m.a : exact;
        }
        actions = {
            a;
        }
        const entries = {
            1 : a;
            (2) : a();
            { 3 }
            : a;
            8w4 : a;
            SEx : a;
        }
        const default_action = a;
    }
    apply {
        t1.apply();
        if (t1.apply().hit) {} else if (!t1.apply().miss) {}
        bool h = t4.apply().hit;
        switch (t1.apply().action_run) { a: b: { } cc: {} default: {} }
        nest(3);
        if (t2.apply().miss && m.f) exit;
        cc(1, 2);
        ee(loc, true, 4);
        dd(_);
        t5.apply();
        t6.apply();
        t3.apply();
    }
}
