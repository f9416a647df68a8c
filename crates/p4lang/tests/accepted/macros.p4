// Macros that make declarations.

#include <core.p4>
#define MK(n) header h##n##_t { bit<8> f##n; }
#define FOR3(M) M(0) M(1) M(2)
FOR3(MK)
#define FIELD(n) h##n##_t h##n;
struct Hs { FOR3(FIELD) }
#define STATE(n, nx) state s##n { p.extract(h.h##n); transition select(h.h##n.f##n) { 0: nx; default: accept; } }
#define IFV(x) if ((x).isValid())
#define ASSERT_EQ(a, b) \
  do_check((a) == (b), \
     #a)
extern void do_check(in bool b, string s);
#if (1 + 2) * 3 == 9 && defined(MK) && !(defined NOPE) && 0x10 == 16 && 1 /* c */ // d
#define YES 1
#endif
#ifdef YES
#else
garbage ' " unterminated
#endif
#if YES
# if 0
#  error not here
# elif YES
#  define DEEP 5
# endif
#endif
parser P(packet_in p, out Hs h) { state start { transition s0; } STATE(0, s1) STATE(1, s2) STATE(2, accept) }
control C(inout Hs h) { apply { IFV(h.h0) { h.h0.f0 = DEEP; } ASSERT_EQ(h.h0.f0, 5); ASSERT_EQ(h.h1.f1 + 1, DEEP); } }
#undef DEEP
#define DEEP
#define EMPTY_ARGS() 3
#define VAR(...) { __VA_ARGS__ }
#define VAR2(a, ...) f2(a, ## __VA_ARGS__)
extern void f2(in bit<8> a, @optional in bit<8> b);
const tuple<bit<8>, bit<8>> tt = VAR(1, 2); DEEP const bit<8> ea = EMPTY_ARGS();
control C3() { apply { VAR2(1); VAR2(1, 2); } }
#pragma once
#pragma pack(1)
#warning "just a warning"
const bit<8> line = __LINE__;
#define SELF SELF
#define PAIR(a, b) (a) + (b)
const bit<8> z1 = PAIR((1), (2 + 3));
