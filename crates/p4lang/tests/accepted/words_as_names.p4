// Keywords that are names where no keyword can stand.

#include <core.p4>
struct key {
    bit<8> key;
    bit<8> actions;
    bit<8> state;
    bit<8> type;
    bit<8> priority;
    bit<8> entries;
    bit<8> apply;
    bit<8> list;
}
struct M {
    key key;
    bit<8> type;
    bit<8> entries;
    bit<8> state;
}
control c(inout M apply) {
    bit<8> state = 3;
    bit<8> type = 4;
    action actions(bit<8> key) {
        apply.key.key = key;
        apply.type = type;
    }
    action entries() { }
    action priority() {}
    table key {
        key = {
            apply.key.key : exact;
            apply.type : exact @name("t");
        }
        actions = {
            actions;
            entries();
            priority;
            .NoAction;
        }
        default_action = entries;
        const entries = {
            (1, 2) : actions(3);
            (2, 3) : entries;
            (_, _) : NoAction;
        }
    }
    table entries_ {
        actions = {
            entries;
        }
        default_action = entries();
    }
    apply {
        key.apply();
        if (key.apply().hit) {
            entries_.apply();
        }
        switch (entries_.apply().action_run) {
            entries: {
                state = 1;
            }
            default: {}
        }
    }
}
parser state(packet_in priority, out M mm) {
    bit<8> state;
    state start {
        transition apply;
    }
    state apply {
        mm.key = { 1,2,3,4,5,6,7,8 };
        transition select(mm.key.key) {
            1: key;
            2 .. 4: type;
            7 &&& 0xf: accept;
            _: reject;
        }
    }
    state key {
        transition accept;
    }
    state type {
        transition select(mm.key.key, mm.key.actions) {
            (1, _): accept;
            (2 .. 3, 4 &&& 5): reject;
            default: accept;
        }
    }
}
parser P(packet_in p, out M m);
control C(inout M m);
package top(P p, C c);
top(state(), c()) main;
