// PIE (RFC 8033): a packet is dropped at random before it enters the queue. The probability follows
// the delay, as an integral and a proportional part: it rises while packets wait for longer than
// REFERENCE, and while that becomes worse, so that it settles where the delay is REFERENCE.
//
// P4 has no timer: egress updates the probability with the first packet after each T_UPDATE, and
// reads the delay from that packet's own time in the queue. While no packet comes, there are no
// updates; the next packet then finds the probability halved for each 524 ms, which is nearly what
// updates at an empty queue do (0.98 in each 15 ms). The optional spacing of drops
// (de-randomization) is left out.
#include "ipv4.p4"

const int<64> REFERENCE = 15000; // us
const int<64> HALF_REFERENCE = 7500;
const bit<48> T_UPDATE = 15000;
const int<64> MAX_BURST = 150000;
const bit<32> PORTS = 512;
// Probabilities are in units of 2^-32. ALPHA is 0.125 and BETA is 1.25 per second of delay.
const int<64> CERTAIN = 0xffffffff;
const int<64> ALPHA = 537;
const int<64> BETA = 5369;
const int<64> TWO_PERCENT = 85899346;
const int<64> TEN_PERCENT = 429496730;

// Ingress reads what egress writes.
register<bit<32>>(PORTS) probability;
register<int<64>>(PORTS) delay_before;
register<int<64>>(PORTS) burst_allowance;
register<bit<48>>(PORTS) next_update;

// Lets the probability decay for the time since the last update was due.
control Decay(inout bit<32> chance, in bit<48> now, in bit<48> due) {
    apply {
        if (now > due) {
            bit<48> halvings = (now - due) >> 19;
            if (halvings > 31) {
                chance = 0;
            } else {
                chance = chance >> (bit<8>) halvings;
            }
        }
    }
}

control PieIngress(inout headers_t headers, inout metadata_t metadata,
                   inout standard_metadata_t standard) {
    apply {
        ToPort.apply(headers, standard);
        bit<32> port = (bit<32>) standard.egress_spec;
        bit<32> chance;
        int<64> delay;
        int<64> allowance;
        bit<32> lot;
        probability.read(chance, port);
        delay_before.read(delay, port);
        burst_allowance.read(allowance, port);
        bit<48> due;
        next_update.read(due, port);
        Decay.apply(chance, standard.ingress_global_timestamp, due);
        random(lot, 0, 0xffffffff);
        // Nothing is dropped in a burst after quiet times, nor while half the reference suffices.
        bool is_safe = allowance > 0 || (delay < HALF_REFERENCE && chance < 858993459);
        if (!is_safe && lot < chance) {
            mark_to_drop(standard);
        }
    }
}

control PieEgress(inout headers_t headers, inout metadata_t metadata,
                  inout standard_metadata_t standard) {
    apply {
        bit<32> port = (bit<32>) standard.egress_port;
        bit<48> now = standard.egress_global_timestamp;
        bit<48> next;
        next_update.read(next, port);
        if (now >= next) {
            bit<32> known;
            int<64> before;
            int<64> allowance;
            probability.read(known, port);
            delay_before.read(before, port);
            burst_allowance.read(allowance, port);
            Decay.apply(known, now, next);
            int<64> chance = (int<64>) (bit<64>) known;
            int<64> delay = (int<64>) (bit<64>) standard.deq_timedelta;

            int<64> change = ALPHA * (delay - REFERENCE) + BETA * (delay - before);
            // Small probabilities change in small steps (RFC 8033, section 4.2).
            if (chance < 4295) {
                change = change >> 11;
            } else if (chance < 42950) {
                change = change >> 9;
            } else if (chance < 429497) {
                change = change >> 7;
            } else if (chance < 4294967) {
                change = change >> 5;
            } else if (chance < 42949673) {
                change = change >> 3;
            } else if (chance < TEN_PERCENT) {
                change = change >> 1;
            } else if (change > TWO_PERCENT) {
                change = TWO_PERCENT;
            }
            chance = chance + change;
            if (delay == 0 && before == 0) {
                // 63/64 is the nearest to RFC 8033's 0.98 without a division.
                chance = chance - (chance >> 6);
            }
            if (chance < 0) {
                chance = 0;
            } else if (chance > CERTAIN) {
                chance = CERTAIN;
            }

            if (chance == 0 && delay < HALF_REFERENCE && before < HALF_REFERENCE) {
                allowance = MAX_BURST;
            } else if (allowance > (int<64>) (bit<64>) T_UPDATE) {
                allowance = allowance - (int<64>) (bit<64>) T_UPDATE;
            } else {
                allowance = 0;
            }

            probability.write(port, (bit<32>) (bit<64>) chance);
            delay_before.write(port, delay);
            burst_allowance.write(port, allowance);
            next_update.write(port, now + T_UPDATE);
        }
    }
}

V1Switch(Ipv4Parser(), Ipv4Verify(), PieIngress(), PieEgress(), Ipv4Update(),
         Ipv4Deparser()) main;
