// v1model with all of its externs.

#include <core.p4>
#include <v1model.p4>
header H {
    bit<8> a;
    bit<8> b;
}
struct Hd {
    H h;
    H[3] st;
}
struct M {
    bit<8> x;
    bit<32> i;
    bool f;
}
enum E { a, b }
struct G<T> {
    T t;
}
const bit<8> k = 7;
enum bit<8> E8 { x = 1 }
void rd(packet_in p, out H h) {
    p.extract(h);
}
void em(packet_out p, in H h) {
    p.emit(h);
}
bit<8> useb(in bool b) {
    return b ? 8w1 : 0;
}
bit<8> rr(register<bit<8>> r, in bit<32> i) {
    bit<8> v;
    r.read(v, i);
    return v;
}
action glob(inout H h, in bit<8> x, bit<8> y) {
    h.a = x + y;
}
control sub(inout H h, register<bit<8>> r, in bool b) {
    bit<8> v;
    apply {
        r.read(v, 0);
        h.a = v;
        if (b) return;
        r.write(1, v);
    }
}
control emitter(packet_out p, in H h) {
    apply {
        p.emit(h);
    }
}
parser sp(packet_in p, out H h) {
    state start {
        rd(p, h);
        transition select(h.a) { }
    }
}
parser P(packet_in p, out Hd h, inout M m, inout standard_metadata_t s) {
    sp() s1;
    .G<bit<8>> g;
    G<error> ge = { error.NoMatch };
    tuple<error, bool> te = { error.NoError, true };
    state start {
        s1.apply(p, h.h);
        if (h.h.a == 1) {
            p.extract(h.st.next);
    } else if (m.f) {
            p.advance(p.lookahead<bit<32>>());
        }
        g.t = useb(h.h.isValid());
        transition select(h.h.a, g.t) {
            (1, .k): more;
            (E8.x, _): more;
            _: accept;
        }
    }
    state more {
        m.i = (bit<32>) h.st.lastIndex;
        transition select(ge.t == error.NoMatch) {
            true: start;
        }
    }
}
control I(inout Hd h, inout M m, inout standard_metadata_t s) {
    register<bit<8>>(size = 16) r;
    register<bit<8>>(16) r2;
    sub() sb;
    E e = .E.a;
    bool fl = false;
    direct_counter(type = CounterType.bytes) dc;
    counter(size = 3, type = CounterType.packets) cn;
    action a() {
        dc.count();
        glob(h.h, 1, 2);
    }
    action b(bit<8> v) {
        h.h.b = v;
        if (v == 3) {
            exit;
        }
    }
    action c2(in bit<8> q, bit<8> v) {
        m.x = q ++ v == 16w3 ? q : v;
    }
    table t {
        key = {
            h.h.a & 0xf0 : exact;
            h.h.a + 1 : ternary @name("plus");
            h.h.a ++ h.h.b : lpm @name("cat");
            useb(m.f) : exact @name("fn");
            e == E.a : exact @name("cmp");
            (bit<4>) h.h.b : range @name("cast");
            h.st[1].a[3:1] : exact;
            8w3 : exact @name("lit");
            m.f : exact;
            m.f && fl : exact @name("andk");
            s.ingress_port : exact @name("standard_metadata.ingress_port");
        }
        actions = {
            a;
            b;
            c2(m.x);
            glob(h.h, m.x);
            @defaultonly NoAction;
        }
        const default_action = NoAction;
        counters = dc;
        support_timeout = true;
        size = 1 << 10;
    }
    table u {
        key = {
            h.h.a : exact;
        }
        actions = {
            b;
        }
        default_action = b(v = 3);
        const entries = {
            1 : b(v = 5);
            k : b(k);
            E8.x : b(E8.x);
            8w3 + 1 : b(2);
        }
    }
    table w {
        actions = {
            b;
            NoAction;
        }
        default_action = NoAction;
    }
    table x {
        key = {
            m.x : exact;
        }
        actions = {
            NoAction;
        }
        implementation = action_selector(HashAlgorithm.crc16, 32w16, 32w8);
    }
    table y {
        key = {
            m.x : exact;
            m.i : selector;
            h.h.a : selector;
        }
        actions = {
            b;
            NoAction;
        }
        implementation = action_selector(HashAlgorithm.crc16, 32w16, 32w8);
    }
    table z {
        key = {
            m.x : optional;
        }
        actions = { }
    }
    apply {
        if (t.apply().hit && u.apply().hit) { } else if (w.apply().hit || !u.apply().miss) {
            m.x = 1;
        }
        fl = t.apply().hit ? u.apply().hit : false;
        m.x = useb(u.apply().hit);
        switch (u.apply().action_run) {
            b: {
                switch (w.apply().action_run) {
                    NoAction: {}
                    default: {
                        m.x = 2;
                    }
                }
            }
        }
        sb.apply(h.h, r, fl);
        sub.apply(h.h, r2, true);
        sub.apply(b = u.apply().hit, h = h.h, r = r2);
        m.x = rr(r, 3);
        x.apply();
        y.apply();
        z.apply();
        glob(h.h, m.x, 3);
        c2(1, 2);
        b(m.x);
        if (!fl) if (m.x == 1) m.x = 2;
        else m.x = 3;
        {
            {
                {
                    m.x = 4;
                }
            }
        };
        ;
        return;
        m.x = 5;
    }
}
control Eg(inout Hd h, inout M m, inout standard_metadata_t s) {
    apply {
        if (s.instance_type != 0) {
            exit;
        }
    }
}
control V(inout Hd h, inout M m) { apply { } }
control D(packet_out p, in Hd h) {
    emitter() e1;
    apply {
        e1.apply(p, h.h);
        em(p, h.st[0]);
        p.emit(h.st);
        p.emit({ h.h, h.st[1] });
        if (h.h.isValid()) {
            p.emit(h.h);
        }
    }
}
V1Switch(p = P(), ig = I(), vr = V(), eg = Eg(), ck = V(), dep = D()) main;
