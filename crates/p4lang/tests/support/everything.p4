// A program with one of everything, for the fuzzer to start from.
#include <core.p4>
#include "other.p4"
#define WIDTH 8
#define FIELD(type, name) type name ## _f;
#define CALL(f, ...) f(__VA_ARGS__)
#if defined(WIDTH) && WIDTH >= 8
typedef bit<WIDTH> byte_t;
#else
#error no width
#endif
#ifndef NEVER
@p4runtime_translation("p4.org/x", 32)
type bit<32> port_t;
#endif

enum E { A, B, }
enum bit<8> F { A = 1, B = 2 }
error { Mine }
match_kind { range }
header h_t { FIELD(byte_t, a) varbit<32> v; @name("c.c") bit<(WIDTH + 1)> c; int<7> d; }
header g_t<T> { T t; }
header_union u_t { h_t h; g_t<bit<8>> g; }
struct s_t { h_t[4] stack; u_t u; tuple<bit<8>, bool> t; error e; }
extern X<T> { X(bit<32> n); X(); @pure T get<U>(in U u, out T t); abstract bit<8> m(in bit<8> b); }
extern bool g(in bit<8> a, @optional in bit<8> b = 3);
extern T id<T>(in T t);
const int big = 0xFFFF_FFFF_FFFF_FFFF_FFFF - -1;
const list<tuple<bit<8>, bool>> l = { { 1, true }, { 2, false } };
bit<8> twice(in bit<8> x) { return (bit<8>) x + x; }
parser p<H>(packet_in b, out s_t s)(bit<8> n) {
    value_set<tuple<bit<8>, bit<9>>>(4) vs;
    bit<8> x = n;
    state start {
        b.extract(s.stack.next, 16);
        x = b.lookahead<bit<8>>() >> 2;
        verify(x != 0, error.Mine);
        transition select(x, s.stack.last.c) {
            (1 &&& 2, _): accept;
            (1 .. 3, default): next;
            vs: accept;
            _: reject;
        }
    }
    state next { { if (x > 3) b.advance(32); else ; } transition start; }
}
@brief("A control.") control c(inout s_t s, out bit<9> o) {
    X<bit<8>>(3) x = { bit<8> m(in bit<8> b) { return b[7:0]; } };
    action a(inout bit<8> d, bit<9> q) { o = q; d = d |+| 3 |-| 1; exit; }
    table t {
        key = { s.stack[0].c: exact @name("k"); s.stack[1].d & 3: ternary; }
        actions = { a(s.stack[0].a_f); .NoAction; }
        const entries = { const priority = 3: (1, 2 &&& 3): a(s.stack[0].a_f, 3) @id(3); (3, default): NoAction; }
        const default_action = NoAction();
        size = 16 * 2;
    }
    apply {
        bit<8> v; const bit<8> w = 4; h_t hh = {#}; s_t z = { ... }; tuple<> none = {};
        if (t.apply().hit && !(v == w)) { s.stack[0].setValid(); } else if (v < w) return;
        switch (t.apply().action_run) { a: NoAction: { v = 1; } default: { } }
        switch (v) { 3: 4: { } F.A: { } default: { } }
        for (bit<8> i = 0, v = 2; i < 3; i += 1, v <<= 1) { if (i == 2) break; else continue; }
        @unroll for (h_t e in s.stack) e.c[3:0] = 5;
        for (bit<8> i in 1 .. 3) v ^= i;
        v = g(a = v, b = 3) ? id<bit<8>>(v) : CALL(twice, v)[3:0] ++ (bit<4>) v[3+:1];
        hh = (h_t) { a_f = 1, ... }; .g(v); v >>= 1; @atomic { v = -v * ~v / 3 % 4 - +v; }
    }
}
control ct(inout s_t s, out bit<9> o);
package top(ct cc);
@pragma something else (3)
top(c()) main;
