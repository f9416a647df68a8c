// CoDel (RFC 8289): packets may wait, but not always for longer than TARGET. As soon as every
// packet of an INTERVAL has waited for longer, egress drops one at the head of the queue, and
// further ones at times that come closer together, by INTERVAL divided by the square root of the
// number of drops, until a packet has waited for less. Drops at the head take no time of the link,
// and tell senders sooner than drops at the tail.
//
// The state of each port is in registers. P4 has no square root: a table has it, in steps of a
// quarter of each power of two, with an error below 6 %.
#include "ipv4.p4"

typedef bit<48> time_t; // us

const bit<32> TARGET = 5000;
const time_t INTERVAL = 100000;
const bit<32> PORTS = 512;

control CodelIngress(inout headers_t headers, inout metadata_t metadata,
                     inout standard_metadata_t standard) {
    apply {
        ToPort.apply(headers, standard);
    }
}

control CodelEgress(inout headers_t headers, inout metadata_t metadata,
                    inout standard_metadata_t standard) {
    // The time at which all packets will have waited for too long during an interval; 0 if the last
    // packet has not.
    register<time_t>(PORTS) above_since;
    // Whether the port drops packets, and the time of its next drop.
    register<bit<1>>(PORTS) dropping;
    register<time_t>(PORTS) next_drop;
    // The number of drops since it began, and that number when it began.
    register<bit<32>>(PORTS) drops;
    register<bit<32>>(PORTS) drops_at_start;

    time_t wait_for = INTERVAL;

    action spacing(time_t time) {
        wait_for = time;
    }

    bit<32> count = 0;

    // INTERVAL / sqrt(count).
    table square_root {
        key = { count: lpm; }
        actions = { spacing; }
        const default_action = spacing(390);
        const entries = {
            0x0001 &&& 0xffffffff : spacing(100000);
            0x0002 &&& 0xffffffff : spacing(70711);
            0x0003 &&& 0xffffffff : spacing(57735);
            0x0004 &&& 0xffffffff : spacing(50000);
            0x0005 &&& 0xffffffff : spacing(44721);
            0x0006 &&& 0xffffffff : spacing(40825);
            0x0007 &&& 0xffffffff : spacing(37796);
            0x0008 &&& 0xfffffffe : spacing(34329);
            0x000a &&& 0xfffffffe : spacing(30878);
            0x000c &&& 0xfffffffe : spacing(28296);
            0x000e &&& 0xfffffffe : spacing(26269);
            0x0010 &&& 0xfffffffc : spacing(23949);
            0x0014 &&& 0xfffffffc : spacing(21593);
            0x0018 &&& 0xfffffffc : spacing(19820);
            0x001c &&& 0xfffffffc : spacing(18423);
            0x0020 &&& 0xfffffff8 : spacing(16825);
            0x0028 &&& 0xfffffff8 : spacing(15187);
            0x0030 &&& 0xfffffff8 : spacing(13951);
            0x0038 &&& 0xfffffff8 : spacing(12975);
            0x0040 &&& 0xfffffff0 : spacing(11859);
            0x0050 &&& 0xfffffff0 : spacing(10710);
            0x0060 &&& 0xfffffff0 : spacing(9842);
            0x0070 &&& 0xfffffff0 : spacing(9157);
            0x0080 &&& 0xffffffe0 : spacing(8372);
            0x00a0 &&& 0xffffffe0 : spacing(7563);
            0x00c0 &&& 0xffffffe0 : spacing(6952);
            0x00e0 &&& 0xffffffe0 : spacing(6468);
            0x0100 &&& 0xffffffc0 : spacing(5916);
            0x0140 &&& 0xffffffc0 : spacing(5345);
            0x0180 &&& 0xffffffc0 : spacing(4913);
            0x01c0 &&& 0xffffffc0 : spacing(4572);
            0x0200 &&& 0xffffff80 : spacing(4181);
            0x0280 &&& 0xffffff80 : spacing(3778);
            0x0300 &&& 0xffffff80 : spacing(3473);
            0x0380 &&& 0xffffff80 : spacing(3232);
            0x0400 &&& 0xffffff00 : spacing(2956);
            0x0500 &&& 0xffffff00 : spacing(2671);
            0x0600 &&& 0xffffff00 : spacing(2455);
            0x0700 &&& 0xffffff00 : spacing(2285);
            0x0800 &&& 0xfffffe00 : spacing(2090);
            0x0a00 &&& 0xfffffe00 : spacing(1889);
            0x0c00 &&& 0xfffffe00 : spacing(1736);
            0x0e00 &&& 0xfffffe00 : spacing(1616);
            0x1000 &&& 0xfffffc00 : spacing(1478);
            0x1400 &&& 0xfffffc00 : spacing(1335);
            0x1800 &&& 0xfffffc00 : spacing(1228);
            0x1c00 &&& 0xfffffc00 : spacing(1142);
            0x2000 &&& 0xfffff800 : spacing(1045);
            0x2800 &&& 0xfffff800 : spacing(944);
            0x3000 &&& 0xfffff800 : spacing(868);
            0x3800 &&& 0xfffff800 : spacing(808);
            0x4000 &&& 0xfffff000 : spacing(739);
            0x5000 &&& 0xfffff000 : spacing(668);
            0x6000 &&& 0xfffff000 : spacing(614);
            0x7000 &&& 0xfffff000 : spacing(571);
            0x8000 &&& 0xffffe000 : spacing(522);
            0xa000 &&& 0xffffe000 : spacing(472);
            0xc000 &&& 0xffffe000 : spacing(434);
            0xe000 &&& 0xffffe000 : spacing(404);
        }
    }

    apply {
        bit<32> port = (bit<32>) standard.egress_port;
        time_t now = standard.egress_global_timestamp;
        time_t since;
        bit<1> is_dropping;
        time_t next;
        bit<32> at_start;
        above_since.read(since, port);
        dropping.read(is_dropping, port);
        next_drop.read(next, port);
        drops.read(count, port);
        drops_at_start.read(at_start, port);

        // Did all packets of an interval wait for too long? The last packet of a queue may.
        bool is_late = false;
        if (standard.deq_timedelta < TARGET || standard.deq_qdepth == 0) {
            since = 0;
        } else if (since == 0) {
            since = now + INTERVAL;
        } else {
            is_late = now >= since;
        }

        bool drops_it = false;
        if (is_dropping == 1) {
            if (!is_late) {
                is_dropping = 0;
            } else if (now >= next) {
                drops_it = true;
                count = count + 1;
                square_root.apply();
                next = next + wait_for;
            }
        } else if (is_late) {
            drops_it = true;
            is_dropping = 1;
            // Soon after the last time, it continues at the rate that was enough then.
            bit<32> before = count - at_start;
            if (before > 1 && now - next < 16 * INTERVAL) {
                count = before;
            } else {
                count = 1;
            }
            at_start = count;
            square_root.apply();
            next = now + wait_for;
        }

        above_since.write(port, since);
        dropping.write(port, is_dropping);
        next_drop.write(port, next);
        drops.write(port, count);
        drops_at_start.write(port, at_start);
        if (drops_it) {
            mark_to_drop(standard);
        }
    }
}

V1Switch(Ipv4Parser(), Ipv4Verify(), CodelIngress(), CodelEgress(), Ipv4Update(),
         Ipv4Deparser()) main;
