// A calculator: the packet returns to its sender with the result.

#include "common.p4"

const bit<16> TYPE_CALC = 0x1234;
const bit<8> CALC_P = 0x50;
const bit<8> CALC_4 = 0x34;
const bit<8> CALC_VERSION = 0x01;

header sum_t {
    bit<8> p;
    bit<8> four;
    bit<8> ver;
    bit<8> op;
    bit<32> left;
    bit<32> right;
    bit<32> res;
}

struct headers {
    ethernet_t ethernet;
    sum_t sum;
}

struct metadata { }

parser ExerciseParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_CALC: check_sum;
            default: accept;
        }
    }
    state check_sum {
        transition select(packet.lookahead<sum_t>().p, packet.lookahead<sum_t>().four,
            packet.lookahead<sum_t>().ver)
        {
            (CALC_P, CALC_4, CALC_VERSION): parse_sum;
            default: accept;
        }
    }
    state parse_sum {
        packet.extract(hdr.sum);
        transition accept;
    }
}

control NoVerification(inout headers hdr, inout metadata meta) { apply { } }

control ExerciseIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action send_back(bit<32> result) {
        hdr.sum.res = result;
        bit<48> from = hdr.ethernet.destination;
        hdr.ethernet.destination = hdr.ethernet.source;
        hdr.ethernet.source = from;
        standard.egress_spec = standard.ingress_port;
    }
    action operation_add() { send_back(hdr.sum.left + hdr.sum.right); }
    action operation_sub() { send_back(hdr.sum.left - hdr.sum.right); }
    action operation_and() { send_back(hdr.sum.left & hdr.sum.right); }
    action operation_or() { send_back(hdr.sum.left | hdr.sum.right); }
    action operation_xor() { send_back(hdr.sum.left ^ hdr.sum.right); }
    action operation_drop() { mark_to_drop(standard); }
    table calculate {
        key = { hdr.sum.op: exact; }
        actions = { operation_add; operation_sub; operation_and; operation_or; operation_xor; operation_drop; }
        const default_action = operation_drop();
        const entries = {
            0x2b: operation_add();
            0x2d: operation_sub();
            0x26: operation_and();
            0x7c: operation_or();
            0x5e: operation_xor();
        }
    }
    apply {
        if (hdr.sum.isValid()) {
            calculate.apply();
        } else {
            operation_drop();
        }
    }
}

control ExerciseEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) { apply { } }
control Update(inout headers hdr, inout metadata meta) { apply { } }

control ExerciseDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.sum);
    }
}

V1Switch(ExerciseParser(), NoVerification(), ExerciseIngress(), ExerciseEgress(), Update(), ExerciseDeparser()) main;
