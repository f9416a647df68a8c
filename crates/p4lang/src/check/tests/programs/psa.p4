#include <core.p4>
#include <psa.p4>
struct EMPTY {} header eth { bit<48> d; bit<48> s; bit<16> t; } struct headers { eth e; }
struct metadata { bit<16> x; PortId_t port; }
struct dg { bit<48> a; PortId_t p; }
parser IP(packet_in buffer, out headers h, inout metadata m, in psa_ingress_parser_input_metadata_t im, in EMPTY r, in EMPTY rc) {
  state start { buffer.extract(h.e); transition select(im.packet_path) { PSA_PacketPath_t.NORMAL: accept; default: reject; } } }
control ingress(inout headers h, inout metadata m, in psa_ingress_input_metadata_t im, inout psa_ingress_output_metadata_t om) {
  Counter<bit<32>, PortId_t>(512, PSA_CounterType_t.PACKETS) c;
  DirectCounter<bit<32>>(PSA_CounterType_t.BYTES) dc;
  Register<bit<32>, bit<10>>(1024, 5) reg;
  Register<bit<32>, bit<10>>(1024) reg2;
  Meter<bit<8>>(16, PSA_MeterType_t.BYTES) mt;
  Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) hs;
  Random<bit<16>>(0, 255) rnd;
  ActionSelector(PSA_HashAlgorithm_t.CRC32, 32w1024, 32w16) as;
  InternetChecksum() ck;
  action fwd(PortId_t p) { send_to_port(om, p); dc.count(); }
  action dr() { ingress_drop(om); }
  action mc(MulticastGroup_t g) { multicast(om, g); }
  table t { key = { h.e.d: exact; im.ingress_port: ternary; } actions = { fwd; dr; mc; NoAction; } default_action = dr; psa_direct_counter = dc; psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL; }
  table u { key = { h.e.t: exact; m.x: selector; } actions = { fwd; NoAction; } psa_implementation = as; }
  apply {
    t.apply(); u.apply(); c.count(im.ingress_port); m.x = hs.get_hash({ h.e.d, h.e.s }); m.x = hs.get_hash(0, h.e.d, 16w100); m.x = rnd.read();
    bit<32> v = reg.read(3); reg.write(10w3, v + 1); PSA_MeterColor_t col = mt.execute(5); if (col == PSA_MeterColor_t.RED) { ingress_drop(om); }
    ck.clear(); ck.add({ h.e.t }); m.x = ck.get(); m.port = (PortId_t) 5; om.egress_port = im.ingress_port; om.class_of_service = (ClassOfService_t) 1;
    om.clone = true; om.clone_session_id = (CloneSessionId_t) 8;
  }
}
parser EP(packet_in buffer, out headers h, inout metadata m, in psa_egress_parser_input_metadata_t im, in EMPTY a, in EMPTY b, in EMPTY c) { state start { transition accept; } }
control egress(inout headers h, inout metadata m, in psa_egress_input_metadata_t im, inout psa_egress_output_metadata_t om) { apply {} }
control ID(packet_out p, out EMPTY a, out EMPTY b, out EMPTY c, inout headers h, in metadata m, in psa_ingress_output_metadata_t im) {
  Digest<dg>() d;
  apply { if (m.x == 3) { d.pack({ h.e.d, m.port }); } p.emit(h.e); } }
control ED(packet_out p, out EMPTY a, out EMPTY b, inout headers h, in metadata m, in psa_egress_output_metadata_t im, in psa_egress_deparser_input_metadata_t x) { apply { p.emit(h); } }
IngressPipeline(IP(), ingress(), ID()) ip;
EgressPipeline(EP(), egress(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
