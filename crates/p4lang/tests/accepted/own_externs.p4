// Externs that have the names of those of other architectures.

#include <core.p4>
extern Register<T> {
    Register();
    T read();
    void write(in T t);
}
extern register {
    register(bit<8> n, string s);
    bit<8> read(in bit<8> i);
}
extern Counter {
    Counter();
    void count(in bit<8> i, in bit<8> j);
}
extern counter<A, B> {
    counter(A a);
    B inc(in A a);
}
extern Hash {
    Hash();
    bit<8> get_hash();
}
extern Meter {
    Meter();
    bit<8> execute();
}
extern Checksum {
    Checksum();
    void clear();
    bit<16> get();
}
extern Digest {
    Digest(bit<8> x);
    void pack();
}
extern Random {
    Random();
    bit<8> read(in bit<8> x);
}
extern ActionSelector {
    ActionSelector(bit<8> x);
}
extern action_profile {
    action_profile();
}
extern void hash(in bit<8> x);
extern bit<8> random();
extern void clone();
extern void digest();
extern void assert(in bit<8> x, in bool b);
extern void log_msg(in bit<8> a);
extern void mark_to_drop(in bool x);
extern void send_to_port();
extern void drop_packet(in bit<8> x);
extern bool verify_checksum();
extern bit<8> static_max(in bit<8> a);
extern direct_counter<T> {
    direct_counter();
    void count(in T t);
}
extern direct_meter {
    direct_meter();
    void read();
}
struct standard_metadata_t {
    bit<8> x;
}
enum HashAlgorithm { x, y }
enum CounterType { a }
struct M {
    bit<8> a;
}
control c(inout M m) {
    Register<bit<8>>() r;
    register(3, "x") r2;
    Counter() cn;
    counter<bit<8>, bit<8>>(3) cc;
    Hash() h;
    Meter() me;
    Checksum() ch;
    Digest(3) d;
    Random() rn;
    direct_counter<bit<8>>() dc;
    direct_meter() dm;
    action_profile() ap;
    ActionSelector(3) ase;
    action a() {
        dm.read();
        dc.count(3);
    }
    table t {
        key = {
            m.a : exact;
        }
        actions = {
            a;
        }
        counters = dc;
        meters = dm;
        implementation = ap;
    }
    table t2 {
        key = {
            m.a : exact;
        }
        actions = {
            a;
        }
        psa_implementation = ase;
    }
    apply {
        m.a = r.read();
        r.write(3);
        m.a = r2.read(3);
        cn.count(3, 4);
        m.a = cc.inc(m.a);
        m.a = h.get_hash();
        m.a = me.execute();
        ch.clear();
        bit<16> z = ch.get();
        d.pack();
        m.a = rn.read(3);
        hash(m.a);
        m.a = random();
        clone();
        digest();
        assert(1, true);
        log_msg(3);
        mark_to_drop(true);
        send_to_port();
        drop_packet(3);
        bool q = verify_checksum();
        t.apply();
        t2.apply();
        m.a = static_max(m.a);
    }
}
control C(inout M m);
package V1Switch(C c);
V1Switch(c()) main;
