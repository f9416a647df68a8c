// Explicit congestion notification by the program: egress marks a packet that found at least
// THRESHOLD packets in its queue, if its sender understands marks. Nothing is dropped for it, and
// the sender learns of the queue one round trip later.
#include "ipv4.p4"

const bit<19> THRESHOLD = 8;

control EcnIngress(inout headers_t headers, inout metadata_t metadata,
                   inout standard_metadata_t standard) {
    apply {
        ToPort.apply(headers, standard);
    }
}

control EcnEgress(inout headers_t headers, inout metadata_t metadata,
                  inout standard_metadata_t standard) {
    apply {
        if (headers.ipv4.isValid() && headers.ipv4.ecn != NOT_ECT
            && standard.enq_qdepth >= THRESHOLD) {
            headers.ipv4.ecn = CE;
        }
    }
}

V1Switch(Ipv4Parser(), Ipv4Verify(), EcnIngress(), EcnEgress(), Ipv4Update(),
         Ipv4Deparser()) main;
