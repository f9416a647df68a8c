// Lists, strings and match kinds as arguments.

#include <core.p4>
match_kind { range }
struct pair<A, B> {
    A a;
    B b;
}
extern KV<M, K, V> {
    KV(M m, int size);
    V lookup(in K k);
}
extern Lst<T> {
    Lst(list<T> l);
    T get(in bit<8> i);
}
extern Lst2 {
    Lst2(list<pair<bit<8>, bool>> l, string s);
    bit<8> g();
}
extern void fi(int x);
extern void fs(string s, int y);
extern bit<8> fo(int a, in bit<8> b, string c);
extern void fb(bit<8> k, bool b);
struct MK {
    match_kind a;
    match_kind b;
}
extern void fl(list<bit<8>> l);
extern Lst3<A, B> {
    Lst3(list<pair<A, B>> l);
}
const int K = 4;
const list<bit<8>> L8 = { 1, 2, 3 };
const string NM = "abc" ++ "def";
const bool _x = static_assert(K == 4, "msg");
const bool __y = static_assert(true);
const bit<8> x_ = 3;
control c(inout bit<8> x, inout bit<16> y)(bit<8> cp, string nm) {
    KV<tuple<match_kind, match_kind>, tuple<bit<8>, bit<16>>, bit<8>>({ exact, lpm }, 1 << 5) kv;
    KV<MK, tuple<bit<8>, bit<16>>, bit<8>>({ exact, range }, K) kv2;
    Lst<bit<8>>({ 1, 2, 3 }) l1;
    Lst<bit<8>>((list<bit<8>>) { 1, 2 }) l2;
    Lst<pair<bit<8>, bool>>({ {1, true}, {2, false} }) l3;
    Lst2({ {1, true}, { a = 2, b = false } }, "s") l4;
    Lst2((list<pair<bit<8>, bool>>) {}, NM) l5;
    Lst3<bit<8>, bit<16>>({ {1, 2}, }) l6;
    Lst<bit<8>>(L8) l7;
    Lst3((list<pair<bit<8>, bit<16>>>) { {1, 2} }) l8;
    apply {
        x = kv.lookup({ x, y });
        x = kv2.lookup({ x, y });
        x = l1.get(1);
        pair<bit<8>, bool> q = l3.get(2);
        fi(3);
        fi(K + 1);
        fs("x", -3);
        x = fo(1, x, "y" ++ NM);
        x = fo(c = NM, b = 3, a = K);
        fb(cp, true);
        fb(8w3, K == 4);
        fs(nm, 1);
        fl(L8);
        fl({1, 2});
    }
}
control C(inout bit<8> x, inout bit<16> y);
package T(C c, string s = "d", int n = 5, bool b = true, bit<8> e = 8w3 + 1);
T(c(3, "z")) m1;
T(c(8w3, NM), "q", 1 << 70) m2;
T(c = c(nm = "a", cp = 5), b = false) main;
