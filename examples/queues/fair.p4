// Shares a port fairly by meters. Each flow has a meter with two rates (RFC 2698): what it sends
// within its committed rate is green and goes to the urgent queue, what it sends up to its peak
// rate is yellow and takes what is left in the other queue, and the rest is red and dropped. A
// greedy flow thereby has no effect on the green packets of others.
//
// The last byte of the source address is the flow. Without rates from the control plane, all is
// green and the flows share the queue by what they send.
#include "ipv4.p4"

const bit<2> GREEN = 0;
const bit<2> RED = 2;

control FairIngress(inout headers_t headers, inout metadata_t metadata,
                    inout standard_metadata_t standard) {
    meter(256, MeterType.bytes) flows;

    apply {
        ToPort.apply(headers, standard);
        bit<2> colour;
        flows.execute_meter((bit<32>) headers.ipv4.source[7:0], colour);
        if (colour == RED) {
            mark_to_drop(standard);
        } else if (colour == GREEN) {
            standard.priority = 1;
        }
    }
}

control FairEgress(inout headers_t headers, inout metadata_t metadata,
                   inout standard_metadata_t standard) {
    apply { }
}

V1Switch(Ipv4Parser(), Ipv4Verify(), FairIngress(), FairEgress(), Ipv4Update(),
         Ipv4Deparser()) main;
