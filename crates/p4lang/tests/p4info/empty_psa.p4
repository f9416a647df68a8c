#include <core.p4>
#include <psa.p4>

header h_t { bit<16> a; }
struct headers_t { h_t h; }
struct empty_t { }

parser IngressP(packet_in packet, out headers_t hdr, inout empty_t meta,
                in psa_ingress_parser_input_metadata_t istd, in empty_t resubmitted, in empty_t recirculated) {
    state start { packet.extract(hdr.h); transition accept; }
}
parser EgressP(packet_in packet, out headers_t hdr, inout empty_t meta, in psa_egress_parser_input_metadata_t istd,
               in empty_t normal, in empty_t from_ingress, in empty_t from_egress) {
    state start { transition accept; }
}
control IngressC(inout headers_t hdr, inout empty_t meta, in psa_ingress_input_metadata_t istd,
                 inout psa_ingress_output_metadata_t ostd) {
    apply { /* ingress */ }
}
control EgressC(inout headers_t hdr, inout empty_t meta, in psa_egress_input_metadata_t istd,
                inout psa_egress_output_metadata_t ostd) {
    apply { }
}
control IngressD(packet_out packet, out empty_t cloned, out empty_t resubmitted, out empty_t normal,
                 inout headers_t hdr, in empty_t meta, in psa_ingress_output_metadata_t istd) {
    apply { packet.emit(hdr.h); }
}
control EgressD(packet_out packet, out empty_t cloned, out empty_t recirculated, inout headers_t hdr, in empty_t meta,
                in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply { packet.emit(hdr.h); }
}

IngressPipeline(IngressP(), IngressC(), IngressD()) ip;
EgressPipeline(EgressP(), EgressC(), EgressD()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
