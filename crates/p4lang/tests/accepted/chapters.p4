// What the chapters of the language specification call legal, in the order of the chapters.

#include <core.p4>

// 6 and 7: names, types, defaults.
const bit<4> depth = 1;
control Shadows() {
    const bit<8> depth = 8;
    const bit<4> outer = .depth;
    const bit<8> inner = depth;
    apply {}
}
typedef struct Spot {
    int<32> x;
    int<32> y;
} Place;
header Nothing {}
typedef Nothing[32] Nothings;
struct Empty {
    tuple<> t;
}
const bit<32> ten = 10;
const bit<(ten + 2)> twelve = 15;
type bit<32> Wide;
header Boxed<T> {
    bit<32> b;
    T t;
}
header_union Either<T> {
    Boxed<bit<32>> left;
    Boxed<T> right;
}
struct Pair<T> {
    T field;
    bool valid;
}
struct Nested<T> {
    Pair<T> s;
}
const Nested<bit<32>> nested = { s = { field = 0, valid = false } };
typedef Pair<bit<32>> Pairs;
enum int<8> N0 {
    one = 1,
    zero = 0,
    two = 2
}
enum bit<8> N2 {
    five = 5,
    also = 5
}
enum N1 { A, B, C }
struct Both {
    Pairs s;
    N0 n0;
    N1 n1;
}
header Sized {
    bit<16> f1;
    bit<8> f2;
}
header Option {
    bit<8> kind;
    bit<8> length;
    varbit<256> data;
}
header One {
    bit<8> kind;
}
header_union Any {
    One end;
    Option s;
}
typedef Any[10] Anys;
struct Prefix {
    bit<8> kind;
    bit<8> length;
}

// 8: expressions.
const bool same = exact == ternary;
extern void log(string message);
extern void see<T>(in T data);
extern void two(in bit<32> x, out bit<16> y);
extern Learner<T> {
    Learner();
    void learn(in T data);
}
extern Listed {
    Listed(list<Prefix> data);
    void run();
}
extern Balancer {
    Balancer();
    bit<32> flows();
    abstract bit<4> on_new_flow(in bit<32> address);
}
bit<32> largest(in bit<32> left, in bit<32> right) {
    return (left > right) ? left : right;
}
void anything<T>(in T x) {
    T y = x;
}
bit<8> effect(in bit<8> a, inout bit<8> b) {
    b = a + 5;
    return a >> 1;
}
Balancer() balancer = {
    bit<4> on_new_flow(in bit<32> address) {
        bit<32> count = this.flows();
        return (address + count)[3:0];
    }
};
struct Hdr {
    Sized sized;
    Anys options;
}

control Expressions(inout Hdr h, inout bit<8> x, inout bit<16> y, inout int<8> z) {
    Learner<tuple<bit<48>, bit<32>>>() learner;
    Listed((list<Prefix>) { { 2, 3 }, { 4, 5 } }) listed;
    apply {
        learner.learn({ 48w1, 2 });
        listed.run();
        log("one " ++ "message");
        x = x + 1;
        if (z < 0) {}
        x = x | 0xF;
        x = x + N2.five;
        y = 16w11 << N2.five;
        x[N2.five:0] = 1;
        y = N2.five ++ 8w0;
        y = y << 1024;
        y = y << x;
        x = (bit<8>) N2.also;
        N2 e = (N2) x;
        e = (N2) (N2.five + N2.also);
        x = 5[3:0] ++ 12[7:4];
        Wide u = (Wide) 0;
        u = (Wide) ((bit<32>) u + 1);
        bool b = (bit<32>) u == 3 && u == (Wide) 4;
        tuple<bit<32>, bool> t = { 10, false };
        bool equal = t == { 10, b };
        Place p = { 10, 20 };
        p = { y = 1, x = 2 };
        b = p == (Place) { x = 1, y = 2 };
        see((Place) { 10, 20 });
        Boxed<bit<32>>[3] s = (Boxed<bit<32>>[3]) { { 0, 1 }, { 2, 3 }, (Boxed<bit<32>>) {#} };
        Boxed<bit<32>>[3] s1 = { { 0, 1 }, { 2, 3 }, (Boxed<bit<32>>) {#} };
        Boxed<bit<32>>[3] s2 = { { 0, 1 }, { 2, 3 }, ... };
        if (s == s1 || s1 != s2) {}
        Either<bit<16>> either = (Either<bit<16>>) {#};
        either.right = { 1, 2 };
        either.left.setValid();
        h.sized = {#};
        if (h.sized == {#}) {}
        h.options.push_front(1);
        h.options.pop_front(2);
        N0 n0 = ...;
        N1 n1 = ...;
        Pairs s3 = { valid = true, ... };
        Both t0 = ...;
        Both t1 = { s = ..., ... };
        tuple<N0, N1> q = { ... };
        Sized h1 = ...;
        Sized h2 = { f2 = 5, ... };
        Sized h3 = { ... };
        bit<16> ya;
        two(3, ya);
        two(x = 3, y = ya);
        two(y = ya, x = 3);
        two(3, _);
        anything(x);
        anything<bit<16>>(y);
        bit<32> size = (bit<32>) h.sized.minSizeInBytes() + (bit<32>) Option.maxSizeInBits();
        see(largest(size, 4));
        see(balancer.on_new_flow(size));
    }
}

// 12: statements.
control Statements(inout bit<8> x, inout bit<16> y, inout error e, in N1 n) {
    action first() {
        x = 1;
    }
    action second(inout bit<8> v, bit<8> data) {
        v = data;
    }
    action third(in bit<8> v) {
        if (v == 1) {
            exit;
        }
    }
    table t {
        key = {
            x & 0x7: exact @name("masked");
            effect(x, x): exact @name("effect");
            y: ternary;
        }
        actions = {
            third(5);
            second(x);
            first;
            @defaultonly NoAction;
        }
        default_action = second(x, 8w8);
        largest_priority_wins = false;
        priority_delta = 10;
        @noWarn("duplicate_priorities") entries = {
            const priority=10: (1, 2, 3 &&& 0xF): first;
            (1, 2, 4): second(x, 2);
            const (1, 2, 0x1000 &&& 0xF000): first;
            priority=40: (4, 2, _): third(5);
        }
    }
    apply {
        @atomic {
            x += 1;
            y |= 3;
            x <<= 2;
        }
        switch (y) {
            0x86dd: { x = 1; }
            0x0800:
            0x0802: { x = 2; }
            default: @unlikely { x = 3; }
        }
        switch (n) {
            N1.A: { x = 1; }
            N1.B: @likely { x = 2; }
        }
        switch (e) {
            error.NoError: {}
            error.PacketTooShort:
        }
        switch (t.apply().action_run) {
            first:
            second: { x = 4; }
            default: { x = 5; }
        }
        if (t.apply().hit) @likely {
            x = 6;
        } else if (!t.apply().miss) {
            return;
        }
        for (bit<8> i = 0, bit<8> j = 1; i < 4; i += 1, j = j + i) {
            if (i == 2) {
                continue;
            }
            x = x + j;
        }
        for (bit<8> i in 1 .. 5) {
            x = x + i;
            if (x > 7) {
                break;
            }
        }
        ;
    }
}

// 13: parsers.
error { BadHeader }
struct Ports {
    @match(ternary)
    bit<16> port;
}
parser Options(packet_in b, out Anys vec) {
    state start {
        transition select(b.lookahead<bit<8>>()) {
            8w0x0: end;
            8w0x5: sack;
        }
    }
    state end {
        b.extract(vec.next.end);
        transition accept;
    }
    state sack {
        bit<8> n = b.lookahead<Prefix>().length;
        b.extract(vec.next.s, (bit<32>) (8 * n - 16));
        transition start;
    }
}
parser Generic(packet_in b, out Hdr h)(bool with_options) {
    value_set<Ports>(4) ports;
    Options() options;
    state start {
        b.extract(h.sized);
        b.extract<One>(_);
        b.advance(8);
        verify(h.sized.f2 >= 5, error.BadHeader);
        transition select(h.sized.f1, h.sized.f2) {
            (0 &&& 0xFC00, 8w1 .. 8w9): more;
            (_, 4): accept;
            default: reject;
        }
    }
    state more {
        transition select(with_options) {
            false: accept;
            true: by_port;
        }
    }
    state by_port {
        transition select(h.sized.f1) {
            ports: subroutine;
            _: accept;
        }
    }
    state subroutine {
        options.apply(b, h.options);
        transition accept;
    }
}

// 15 and 17: parameters, packages.
control Callee<T>(inout T x) {
    apply {}
}
control Caller(inout bit<8> x)(bit<8> amount) {
    Callee<bit<8>>() inside;
    apply {
        inside.apply(x);
        Callee<bit<8>>.apply(x);
        x = x + amount;
    }
}
parser Front<IH>(packet_in b, out IH parsed);
control Middle<T, IH, OH>(in IH input, out OH output, out T further);
control Back<T, IH, OH>(in IH input, in T before, out OH output);
package Ingress<T, IH, OH>(Front<IH> p, Middle<T, IH, OH> map);
package Egress<T, IH, OH>(Front<IH> p, Back<T, IH, OH> map);
package Switch<T>(Ingress<T, _, _> ingress, @optional Egress<T, _, _> egress);
control Mid(in Hdr input, out Hdr output, out bit<8> further) {
    apply {
        output = input;
        further = 1;
    }
}
control Last(in Hdr input, in bit<8> before, out Hdr output) {
    apply {
        output = input;
    }
}

// 20: annotations.
@Many(1) @Many(2) @Empty[] @Mixed[1, "text", true, 1 == 2, 5 + 6]
@Labels[short = "Label", int_val = 2 * 3] const bit<8> annotated = 1;
@deprecated("Use the other " ++ "one.") extern Old {
    Old();
}
const bool checked = static_assert(ten > 9, "ten is too small");

Switch(Ingress(Generic(true), Mid()), Egress(Generic(false), Last())) main;
